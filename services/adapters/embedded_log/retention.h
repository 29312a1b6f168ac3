// Retention by age: deletes whole segments, oldest first.
#pragma once

#include <cstdint>

#include "services/adapters/embedded_log/commit_writer.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/base/status.h"

namespace pitwall::log {

// Deletes the partition's leading segments whose records were all appended before `cutoff_ns`,
// including the last segment if it is the only one left. Returns the number of deleted segments.
// The caller must hold the maintenance lock.
StatusOr<int64_t> DeleteExpired(CommittedState* state, CommittedState::Partition* partition,
                                CommitWriter* writer, int64_t cutoff_ns);

}  // namespace pitwall::log
