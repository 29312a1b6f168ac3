// Bytes that may be gzip -> what they unpack to, piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::imports {

// What does not begin as gzip is passed on as it is. Several members one after the other are one
// text. Not thread-safe.
class Gunzip {
 public:
  using Next = std::function<Status(std::string_view piece)>;

  Gunzip(std::string name, Next next);
  ~Gunzip();

  // InvalidArgument: damaged gzip, at the byte of what was unpacked; and whatever `next` says.
  Status Feed(std::string_view bytes);
  // InvalidArgument: the gzip is cut short. Does not finish what follows.
  Status Finish();

 private:
  struct Stream;

  Status Inflate(std::string_view bytes);

  const std::string name_;
  const Next next_;
  std::string begin_;  // until it is known whether it is gzip
  bool known_ = false;
  uint64_t unpacked_ = 0;  // bytes
  std::unique_ptr<Stream> stream_;
};

}  // namespace pitwall::imports
