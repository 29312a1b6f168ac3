// Reasons for refusing a client or closing its connection: for its log, for ours, and for /metrics.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::collector {

enum class Refusal : size_t {
  kMalformed,       // what it sent cannot be
  kOtherOwner,      // its job belongs to another owner
  kDisplaced,       // its job was declared for another owner since
  kClients,         // limits.clients
  kClientsOfOwner,  // limits.clients_per_owner
  kJobs,            // limits.jobs
  kJobsOfOwner,     // limits.jobs_per_owner
  kNoHello,         // limits.hello_timeout
  kIdle,            // limits.idle_timeout
  kBuffered,        // messages without end fill the memory for them
  kCount,
};
inline constexpr size_t kRefusals = static_cast<size_t>(Refusal::kCount);

std::string_view RefusalName(Refusal refusal);  // malformed, other_owner, …
// An error that carries the refusal; RefusalOf gives it back, kMalformed for any other error.
Status Refuse(Refusal refusal, std::string_view message);
Refusal RefusalOf(const Status& status);

}  // namespace pitwall::collector
