// Recovery of one partition's folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/adapters/log/commit_frame.h"
#include "services/adapters/log/committed_state.h"
#include "services/adapters/log/damage_log.h"
#include "services/adapters/log/segment.h"
#include "services/base/status.h"

namespace pitwall::log {

struct PartitionFiles {
  std::string dir;
  std::vector<SegmentName> segments;   // in force, in order of their bases
  std::vector<std::string> leftovers;  // paths: unfinished, or replaced by a compaction
};

// An absent folder is an empty one. Files with other names are nobody's business.
StatusOr<PartitionFiles> ListPartition(const std::string& dir);

// Whether the records that a commit covers are there: size, and with `checksums` every batch of it.
// DataLoss says what is not.
Status VerifyCommit(const PartitionFiles& files, const PartitionEnd& end, bool checksums);

// Moves `end` on over whole batches of commits up to `sequence`: for a journal whose frame for them
// is lost.
Status ExtendBySequence(const PartitionFiles& files, uint64_t sequence, PartitionEnd* end);

// What is committed, given the end (nothing: never committed to). With `clear_away` records and
// files behind it and left-overs go.
StatusOr<PartitionContent> RecoverPartition(const PartitionFiles& files,
                                            const std::optional<PartitionEnd>& end, bool clear_away,
                                            DamageLog* damage);

}  // namespace pitwall::log
