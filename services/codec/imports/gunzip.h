// Streaming decompressor of input that may be gzip.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::imports {

// Passes input without a gzip header through unchanged. Concatenated members form one text. Not
// thread-safe.
class Gunzip {
 public:
  using Next = std::function<Status(std::string_view piece)>;

  Gunzip(std::string name, Next next);
  ~Gunzip();

  // InvalidArgument: damaged gzip, with the byte of the unpacked text; also errors of `next`. Bytes
  // after the last member that are not gzip are skipped with a warning, as gzip(1) does.
  Status Feed(std::string_view bytes);
  // Logs a warning if the gzip is cut short, as by a writer that was killed: `next` has the text
  // before the cut. Does not finish `next`.
  Status Finish();
  // After Finish: whether the gzip is cut short.
  bool cut() const { return cut_; }

 private:
  struct Stream;

  Status Inflate(std::string_view bytes);

  const std::string name_;
  const Next next_;
  std::string begin_;  // until it is known whether it is gzip
  bool known_ = false;
  uint64_t unpacked_ = 0;  // bytes
  bool whole_ = false;     // a member has ended
  bool tail_ = false;      // what follows is not gzip
  bool cut_ = false;
  std::unique_ptr<Stream> stream_;
};

}  // namespace pitwall::imports
