// Opening a data directory: from the files to what is committed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/adapters/log/commit_frame.h"
#include "services/adapters/log/committed_state.h"
#include "services/adapters/log/damage_log.h"
#include "services/adapters/log/embedded_log.h"
#include "services/adapters/log/topic_catalog.h"
#include "services/base/status.h"

namespace pitwall::log {

struct Recovered {
  std::vector<Topic> topics;
  std::map<PartitionKey, PartitionContent> partitions;  // of all topics
  std::vector<GroupPosition> positions;
  std::vector<CommitterEpoch> epochs;
  uint64_t sequence = 0;         // of the newest frame
  uint32_t max_topic = 0;        // greatest number of a topic, also of those whose folder is gone
  uint64_t journal_number = 0;   // 0: there is none yet
  int64_t journal_bytes = 0;     // the part of it that counts
  int64_t checkpoint_bytes = 0;  // of it, the checkpoint at its head
  bool flush_journal = false;    // it was cut, or not all of it was flushed
  bool rewrite_journal = false;  // salvaged: a checkpoint must replace it before it goes on
};

// Reads journal and folders. A writer (not options.read_only) has the lock and also clears away:
// the journal's torn tail, records behind the committed ends, files of unfinished work.
//
// What a crash leaves: frames and records that were never flushed may be torn or missing after a
// power cut, in any order. So the frames behind the last one known to be flushed are checked
// against the records that they cover, and the first that does not hold ends the log: it and all
// after it never happened.
StatusOr<Recovered> Recover(const EmbeddedLogOptions& options, DamageLog* damage);

}  // namespace pitwall::log
