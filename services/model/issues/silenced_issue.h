// Open issue with notifications suppressed by a silence.
#pragma once

#include <string>

#include "services/base/time.h"

namespace pitwall {

struct SilencedIssue {
  std::string issue;    // issue ID
  std::string by;       // author of the silence that ends last
  std::string comment;  // comment of the silence that ends last
  EventTime until;      // Unix time; consecutive silences count as one
};

}  // namespace pitwall
