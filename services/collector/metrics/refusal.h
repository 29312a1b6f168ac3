// Reasons for refusing a client or closing its connection, as they appear in logs and in /metrics.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

enum class Refusal : size_t {
  kMalformed,       // the client sent malformed data
  kOtherOwner,      // the client's job belongs to another owner
  kDisplaced,       // the client's job has since been declared for another owner
  kClients,         // limits.clients
  kClientsOfOwner,  // limits.clients_per_owner
  kJobs,            // limits.jobs
  kJobsOfOwner,     // limits.jobs_per_owner
  kNoHello,         // limits.hello_timeout
  kIdle,            // limits.idle_timeout
  kBuffered,        // incomplete messages exceeded their memory limit
  kCount,
};
inline constexpr size_t kRefusals = static_cast<size_t>(Refusal::kCount);

std::string_view RefusalName(Refusal refusal);  // malformed, other_owner, …
// Creates an error that contains the refusal. RefusalOf returns this refusal, or kMalformed for any
// other error.
Status Refuse(Refusal refusal, std::string_view message);
Refusal RefusalOf(const Status& status);

}  // namespace pitwall::collector
