// Open issue with notifications suppressed by a silence.
#pragma once

#include <cstdint>
#include <string>

namespace pitwall {

struct SilencedIssue {
  std::string issue;     // issue ID
  std::string by;        // author of the silence that ends last
  std::string comment;   // comment of the silence that ends last
  int64_t until_ns = 0;  // Unix time; consecutive silences count as one
};

}  // namespace pitwall
