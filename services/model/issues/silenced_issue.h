// An open issue of which a silence keeps the receivers from being told.
#pragma once

#include <cstdint>
#include <string>

namespace pitwall {

struct SilencedIssue {
  std::string issue;     // its id
  std::string by;        // who made the silence that ends last
  std::string comment;   // of that one
  int64_t until_ns = 0;  // Unix time; silences that follow each other count as one
};

}  // namespace pitwall
