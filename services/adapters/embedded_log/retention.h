// Retention by age: whole segments go, oldest first.
#pragma once

#include <cstdint>

#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/base/status.h"

namespace pitwall::log {

// Deletes the partition's leading segments whose records were all appended before `cutoff_ns`; the
// last one too when it is the only one left. Returns how many. The caller holds the maintenance
// lock.
StatusOr<int64_t> DeleteExpired(CommittedState* state, CommittedState::Partition* partition,
                                CommitWriter* writer, int64_t cutoff_ns);

}  // namespace pitwall::log
