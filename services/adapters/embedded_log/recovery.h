// Opening a data directory: from the files to what is committed.
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
#include "services/adapters/embedded_log/segment_recovery.h"
#include "services/adapters/embedded_log/topic_catalog.h"
#include "services/base/status.h"

namespace pitwall::log {

// A segment that was not read at open, for who does it later.
struct Unverified {
  PartitionKey key;
  size_t index = 0;
};

struct Recovered {
  std::vector<Topic> topics;
  std::map<PartitionKey, PartitionContent> partitions;  // of all topics
  std::map<PartitionKey, PartitionFacts> facts;
  std::map<PartitionKey, PartitionFiles> files;
  std::vector<Unverified> unverified;
  std::vector<std::string> topics_to_write;  // whose folder or topic.conf is missing or damaged
  std::vector<GroupPosition> positions;
  // The commit that each position is of; in a checkpoint, the newest one before it.
  std::map<std::pair<std::string, PartitionKey>, uint64_t> position_commits;
  std::vector<CommitterEpoch> epochs;
  uint64_t sequence = 0;         // of the newest frame
  uint32_t max_topic = 0;        // greatest number of a topic, also of those whose folder is gone
  uint64_t journal_number = 0;   // 0: there is none yet
  int64_t journal_bytes = 0;     // the part of it that counts
  int64_t checkpoint_bytes = 0;  // of it, the checkpoint at its head
  bool flush_journal = false;    // it was cut, or not all of it was flushed
  std::vector<std::string> older_journals;  // paths that a checkpoint left
  std::vector<std::string> unflushed;       // paths of segments that the last life did not flush
  std::vector<std::string> unflushed_dirs;
  // Salvaged, or of an older format: a checkpoint must replace it before it goes on.
  bool rewrite_journal = false;
  std::string journal_path;  // "": there is none
  bool journal_damaged = false;
};

// Reads journal and folders; changes nothing. What is damaged is reported; DataLoss names the first
// of it and the way out, unless options.salvage is set or all of it was made good.
//
// What a crash leaves: frames and records that were never flushed may be torn or missing after a
// power cut, in any order. So the frames behind the last one known to be flushed are checked
// against the records that they cover, and the first that does not hold ends the log: it and all
// after it never happened. Only what looks like pages that never arrived (the file's end, zeros)
// counts as that; anything else is damage.
StatusOr<Recovered> Recover(const EmbeddedLogOptions& options, DamageLog* damage);

// For a writer, before it goes on: removes the journal's predecessors, records behind the committed
// ends and files of unfinished work, makes what was not flushed sure, and rewrites what was made
// good.
Status ClearAway(const EmbeddedLogOptions& options, const Recovered& recovered,
                 const std::vector<DamageReport>& found);

}  // namespace pitwall::log
