// Delivery record on pitwall.told, one for each notification, receiver, and job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pitwall {

inline constexpr size_t kMaxToldIssues = 50;
inline constexpr size_t kMaxToldText = 512;  // of `error`, in bytes

struct ToldNotice {
  std::string id;  // the same when it is told twice
  std::string job;
  std::vector<std::string> issues;  // that the notice is about, at most kMaxToldIssues
  std::string receiver;             // its name in the configuration
  std::string kind;                 // webhook, email, slack, …
  std::string what;                 // found, updated, ended, acted on, not acted on
  bool taken = true;                // by the receiver; else it was given up
  std::string error;                // why, without secrets; "" when taken
  int64_t time_ns = 0;              // wall time of the answer
};

}  // namespace pitwall
