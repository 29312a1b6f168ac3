// Recovery of one partition's folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/base/status.h"

namespace pitwall::log {

struct PartitionFiles {
  std::string dir;
  std::vector<SegmentName> segments;   // in force, in order of their bases
  std::vector<std::string> leftovers;  // paths: unfinished, or replaced by a compaction
};

// What the journal says of a partition.
struct PartitionFacts {
  std::string topic;
  int32_t partition = 0;
  std::optional<PartitionEnd> end;  // nothing: never committed to
  bool complete = false;            // `segments` are all that there must be but the last one
  std::map<int64_t, SegmentFact> segments;  // by base
  int64_t start = 0;                        // retention took what was before
  std::vector<Lost> lost;
};

// An absent folder is an empty one. Files with other names are nobody's business. `facts`: only the
// files that the journal knows are in force, where it is complete.
StatusOr<PartitionFiles> ListPartition(const std::string& dir, const PartitionFacts* facts);

// Whether the records that a commit covers are there: size, and with `checksums` every batch of it.
// DataLoss says what is not; *torn: it may be what a power cut kept from the disk.
Status VerifyCommit(const PartitionFiles& files, const PartitionEnd& end, bool checksums,
                    bool* torn);

// Moves `end` on over the batches of commits up to `sequence`, whatever is damaged between them:
// for a journal whose frames are lost. *newest: the greatest sequence of a commit seen.
Status ExtendBySequence(const PartitionFiles& files, uint64_t sequence, PartitionEnd* end,
                        uint64_t* newest);

// What is committed. Files that the journal knows and that are missing or too short are reported;
// what is there is in force.
StatusOr<PartitionContent> RecoverPartition(const PartitionFiles& files,
                                            const PartitionFacts& facts, DamageLog* damage);

// Cuts off what lies behind the committed end, and removes left-overs: for a writer.
Status ClearAway(const PartitionFiles& files, const PartitionContent& content);

// Reads segment `index` of the content and reports what is unreadable in it. NotFound: it is gone.
Status VerifySegment(const PartitionFacts& facts, const std::string& dir,
                     const PartitionContent& content, size_t index, DamageLog* damage);

// The first offset behind segment `index`.
int64_t EndOfSegment(const PartitionContent& content, size_t index);

}  // namespace pitwall::log
