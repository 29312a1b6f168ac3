// Recovery of a data directory's committed state from its files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/topic_catalog.h"
#include "services/adapters/embedded_log/segment_recovery.h"
#include "services/base/status.h"

namespace pitwall::log {

// Segment to verify later because it was not verified when the log was opened.
struct Unverified {
  PartitionKey key;
  size_t index = 0;
};

// Newest commit journal file. A writer appends to it.
struct RecoveredJournal {
  uint64_t number = 0;  // 0 if there is no journal yet
  std::string path;     // "" if there is no journal
  bool damaged = false;
  int64_t bytes = 0;             // size of the valid part
  int64_t checkpoint_bytes = 0;  // size of the checkpoint at its start
  bool flush = false;            // the journal was truncated or is not fully flushed
  // The journal was salvaged or has an older format and must be replaced by a checkpoint before the
  // next append.
  bool rewrite = false;
  std::vector<std::string> older;  // paths of older files that a checkpoint left behind
};

struct Recovered {
  RecoveredJournal journal;
  std::vector<Topic> topics;
  std::map<PartitionKey, PartitionContent> partitions;  // partitions of all topics
  std::map<PartitionKey, PartitionFacts> facts;
  std::map<PartitionKey, PartitionFiles> files;
  std::vector<Unverified> unverified;
  // Topics whose directory or topic.conf is missing or damaged.
  std::vector<std::string> topics_to_write;
  std::vector<GroupPosition> positions;
  // Sequence of the commit that stored each position. For a position from a checkpoint, the newest
  // commit before the checkpoint.
  std::map<std::pair<std::string, PartitionKey>, uint64_t> position_commits;
  std::vector<CommitterEpoch> epochs;
  uint64_t sequence = 0;   // sequence of the newest frame
  uint32_t max_topic = 0;  // highest topic number, including topics whose directory is missing
  std::vector<std::string> unflushed;  // paths of segments that the previous process did not flush
  std::vector<std::string> unflushed_dirs;
};

// Reads the journal and the directories without changing anything. Reports all damage. Unless
// options.salvage is set or all damage can be repaired automatically, returns DataLoss with the
// first problem and the repair command.
//
// After a power loss, frames and records that were never flushed may be torn or missing in any
// order. Therefore, the frames after the last one known to be flushed are checked against the
// records that they cover. The log ends before the first frame that fails this check: that frame
// and all later ones are dropped. This applies only to bytes that look like pages that never
// reached the disk (the end of the file or zeros); any other mismatch is damage.
StatusOr<Recovered> Recover(const EmbeddedLogOptions& options, DamageLog* damage);

// Prepares the directory for a writer. Removes older journals, records after the committed ends,
// and files left by unfinished operations. Flushes unflushed files and writes automatic repairs to
// disk.
Status ClearAway(const EmbeddedLogOptions& options, const Recovered& recovered,
                 const std::vector<DamageReport>& found);

}  // namespace pitwall::log
