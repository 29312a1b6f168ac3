// Decoder of blocks of values. Not thread-safe: use one decoder per thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::blocks {

class BlockDecoder {
 public:
  // Appends the values of the one block in `block`. DataLoss, with the reason: damaged; `out` may
  // then have some of the values. Allocations never exceed the limits of block_format.h.
  Status Decode(std::string_view block, std::vector<double>* out);

 private:
  std::string body_;
};

}  // namespace pitwall::blocks
