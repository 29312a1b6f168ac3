// Recovery of a partition directory.
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
  std::vector<SegmentName> segments;  // valid segments, ordered by base offset
  // Paths of unfinished files and files replaced by a compaction.
  std::vector<std::string> leftovers;
};

// State of a partition according to the journal.
struct PartitionFacts {
  std::string topic;
  int32_t partition = 0;
  std::optional<PartitionEnd> end;          // no information, because there is no commit yet
  bool complete = false;                    // `segments` lists all segments except the last one
  std::map<int64_t, SegmentFact> segments;  // by base offset
  int64_t start = 0;                        // retention deleted earlier offsets
  std::vector<Lost> lost;
};

// Lists the segments in a directory. A missing directory counts as empty, and unrelated files are
// ignored. If `facts` is complete, only the files it lists are valid.
StatusOr<PartitionFiles> ListPartition(const std::string& dir, const PartitionFacts* facts);

// Checks that the records covered by a commit exist. Compares the file size and, if `checksums` is
// set, verifies every batch. DataLoss describes the missing part. Sets *torn if that part may not
// have reached the disk before a power loss.
Status VerifyCommit(const PartitionFiles& files, const PartitionEnd& end, bool checksums,
                    bool* torn);

// Advances `end` over the batches of commits up to `sequence` and skips damage between them. Used
// when journal frames are lost. Sets *newest to the highest commit sequence in those batches.
Status ExtendBySequence(const PartitionFiles& files, uint64_t sequence, PartitionEnd* end,
                        uint64_t* newest);

// Returns the committed content. Reports files that the journal lists but that are missing or too
// short. All other files are valid.
StatusOr<PartitionContent> RecoverPartition(const PartitionFiles& files,
                                            const PartitionFacts& facts, DamageLog* damage);

// Prepares the directory for a writer: truncates records after the committed end and removes
// leftovers.
Status ClearAway(const PartitionFiles& files, const PartitionContent& content);

// Reads segment `index` and reports its unreadable records. Returns NotFound if the file no longer
// exists.
Status VerifySegment(const PartitionFacts& facts, const std::string& dir,
                     const PartitionContent& content, size_t index, DamageLog* damage);

// Returns the first offset after segment `index`.
int64_t EndOfSegment(const PartitionContent& content, size_t index);

}  // namespace pitwall::log
