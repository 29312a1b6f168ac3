// Decodes blocks of values. Not thread-safe: one decoder a thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::blocks {

class BlockDecoder {
 public:
  // Appends the values of one block, which is all of `block`. DataLoss, with what is wrong:
  // damaged; `out` may then hold some values. Never allocates by more than the bounds of
  // block_format.h, whatever the bytes say.
  Status Decode(std::string_view block, std::vector<double>* out);

 private:
  std::string body_;
};

}  // namespace pitwall::blocks
