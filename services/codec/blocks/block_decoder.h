// Decoder for blocks of values. Not thread-safe: use one decoder per thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::blocks {

class BlockDecoder {
 public:
  // Decodes `block`, which contains exactly one block, and appends its values. Returns DataLoss
  // with the reason if the block is corrupt; `out` may then contain some of the values. Allocations
  // never exceed the limits in block_format.h.
  Status Decode(std::string_view block, std::vector<double>* out);

 private:
  std::string body_;
};

}  // namespace pitwall::blocks
