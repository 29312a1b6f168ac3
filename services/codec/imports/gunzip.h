// Streaming decompressor for input that may be gzip data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::imports {

// Decompresses gzip input and passes through other input unchanged. Concatenates the output of all
// members. Not thread-safe.
class Gunzip {
 public:
  using Next = std::function<Status(std::string_view piece)>;

  Gunzip(std::string name, Next next);
  ~Gunzip();

  // Decompresses the next bytes. Returns InvalidArgument with the offset in the decompressed data
  // if the gzip data is corrupt. Also returns errors from `next`. Bytes after the last member that
  // are not gzip are skipped with a warning, as in gzip(1).
  Status Feed(std::string_view bytes);
  // Logs a warning if the gzip data is truncated, for example because its writer was killed. At
  // that point, `next` has received the data before the truncation. Does not call Finish on `next`.
  Status Finish();
  // Returns true if the gzip data is truncated. Valid after Finish.
  bool cut() const { return cut_; }

 private:
  struct Stream;

  Status Inflate(std::string_view bytes);

  const std::string name_;
  const Next next_;
  std::string begin_;  // first bytes, buffered until the format is known
  bool known_ = false;
  uint64_t unpacked_ = 0;  // number of bytes decompressed so far
  bool whole_ = false;     // true if at least one member is complete
  bool tail_ = false;      // true if the remaining bytes are not gzip
  bool cut_ = false;
  std::unique_ptr<Stream> stream_;
};

}  // namespace pitwall::imports
