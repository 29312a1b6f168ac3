// Record of a delivered or failed notification, one per receiver and job.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "services/base/time.h"

namespace pitwall {

inline constexpr size_t kMaxNotificationIssues = 50;
inline constexpr size_t kMaxNotificationError = 512;  // maximum length of `error` in bytes

struct NotificationRecord {
  std::string id;  // equal if the same notification is sent twice
  std::string job;
  std::vector<std::string> issues;  // at most kMaxNotificationIssues
  std::string receiver;             // configured name of the receiver
  std::string kind;                 // webhook, email, slack, …
  std::string what;                 // found, updated, ended, acted on, or not acted on
  bool taken = true;                // accepted by the receiver; false: delivery was abandoned
  std::string error;  // contains no secrets; "" if the receiver accepted the notification
  EventTime time;     // wall time of the response
};

}  // namespace pitwall
