// Implementation of the log (services/io/io.h) on local disk, for Pitwall without a broker.
//
// <dir>/LOCK                                     flock of the single writer
// <dir>/topics/<topic>/topic.conf                partitions, compaction, retention: text
// <dir>/topics/<topic>/<partition>/<base>.seg    batches of records, each with CRC32C
// <dir>/commits/<number>.journal                 one frame per commit: the visible records and
// the group positions
//
// A commit writes its records to the segments and then one frame to the journal. The commit takes
// effect once the frame is written. Readers see only records that a frame covers. Recovery after a
// crash removes all other records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::files {
class DiskFaults;  // injects write failures in tests
}  // namespace pitwall::files

namespace pitwall::log {

enum class FsyncPolicy {
  kAlways,  // a commit returns once it is on disk; waiting commits share a flush
  // A background thread flushes every fsync_interval_ms. A power loss destroys at most one
  // interval's commits. A commit is never partly lost.
  kInterval,
  kNever,  // the OS (or Close) flushes: survives kill -9, not a power loss
};

struct EmbeddedLogOptions {
  std::string dir;         // created if it does not exist (never if read_only)
  bool read_only = false;  // reads the state committed at open; acquires no lock, writes nothing
  // Opens the log despite damage. Readers receive errors for the lost records. Without this option,
  // Open fails, and `pitwall log repair` is required (log_repair.h).
  bool salvage = false;
  FsyncPolicy fsync = FsyncPolicy::kInterval;
  int64_t fsync_interval_ms = 200;
  // Limits after which a segment is closed at the next commit: its size, and the age of its first
  // record.
  int64_t segment_bytes = 64 << 20;
  int64_t segment_ms = 6 * 3'600'000;
  size_t max_record_bytes = 16 << 20;  // key + value + headers; at most 16 MiB
  bool compress = true;                // zstd for batches that become smaller
  // The journal is rewritten once it has grown by more than this value and by more than the size of
  // the last checkpoint.
  int64_t checkpoint_bytes = 4 << 20;
  // Minimum share of uncompacted bytes in closed segments that triggers a compaction.
  double compaction_dirty_share = 0.5;
  // Memory limit for the keys in one compaction. The remaining keys are left for the next
  // compaction.
  size_t compaction_map_bytes = 64 << 20;
  int64_t tombstone_retention_ms = 24 * 3'600'000;
  // Number of bytes that Open reads and verifies, newest segments first. A background thread
  // verifies the rest. With -1, Open verifies all segments.
  int64_t verify_bytes = 256 << 20;
  // Runs interval flushes, retention, and compaction on background threads. If false, the owner
  // must call Sync() and Maintain().
  bool background = true;
  std::shared_ptr<files::DiskFaults> faults;  // for tests only
};

// Kind of damage, used as a metric label.
enum class DamageKind {
  kSegmentMissing,  // a segment file is missing
  kSegmentCut,      // a segment file is shorter than its committed size
  kSegmentHeader,   // damaged file header, which only repeats the file name
  kRecords,         // unreadable records
  kOffsets,         // offsets that no file contains
  kJournal,         // the commit journal does not parse
  kJournalCut,      // the journal ends before frames that were flushed
  kJournalMissing,  // the journal is missing
  kSyncedMark,      // the note of the flushed sequence is damaged
  kTopicFile,       // topic.conf is missing or does not parse
  kTopicMissing,    // the topic's directory is missing
  kUnflushed,       // commits that did not reach the disk before a power loss
};
std::string_view DamageKindName(DamageKind kind);

struct DamageReport {
  DamageKind kind = DamageKind::kRecords;
  std::string place;    // file and byte position
  std::string message;  // cause and lost offsets
  std::string topic;    // "" if not related to a topic
  int32_t partition = -1;
  int64_t from_offset = -1;  // first lost offset; -1 if none or unknown
  int64_t to_offset = -1;    // first offset after the lost range
  bool healed = false;       // repaired at open without any loss
  std::string path;          // path of the file
};

struct DamageCount {
  DamageKind kind = DamageKind::kRecords;
  std::string topic;
  bool healed = false;
  int64_t count = 0;
};

struct EmbeddedLogStats {
  int64_t commits = 0;  // journal frames that contain records or a position
  int64_t records = 0;  // appended since open
  int64_t bytes = 0;    // written to segments since open
  int64_t flushes = 0;  // fsync calls on segments and journal
  int64_t failed_flushes = 0;
  int64_t suspended_partitions = 0;  // partitions whose records cannot be flushed
  int64_t journal_bytes = 0;         // current size of the journal file
  int64_t checkpoints = 0;
  int64_t segments = 0;          // number of files in all partitions
  int64_t segment_bytes = 0;     // committed bytes in these files
  int64_t segments_deleted = 0;  // files deleted by retention
  int64_t compactions = 0;
  int64_t clock_ahead_ns = 0;        // newest append time minus wall time
  bool retention_suspended = false;  // true after a wall clock jump; retention by age is paused
};

// Thread-safe, as io.h requires. Readers, appenders, and committers may outlive the log. Appends
// then fail with FailedPrecondition, and readers continue to read committed records. `Committed`
// and `StorePosition` accept only topics of this log.
//
// Errors in addition to io.h:
//  * ResourceExhausted: the disk is full, or the process has no file descriptors left.
//  * Unavailable: the disk failed. The commit is undone, and later commits succeed after the disk
//    recovers.
//  * FailedPrecondition: the log was opened read-only.
// An error in one partition names the partition and does not affect the others. If the records of a
// partition cannot be flushed, it is suspended until a flush succeeds.
class EmbeddedLog : public Log {
 public:
  // Returns the topic names in alphabetical order.
  virtual std::vector<std::string> Topics() = 0;
  virtual StatusOr<TopicConfig> Config(std::string_view topic) = 0;
  // Deletes segments in which every record is older than the topic's retention. If `background` is
  // set, deletion also runs at open, whenever a segment is closed, and every minute.
  virtual Status ApplyRetention() = 0;
  // Applies retention, then compacts partitions whose dirty share requires it. The call may take a
  // long time, but appends continue.
  virtual Status Maintain() = 0;
  // Flushes everything committed so far to disk.
  virtual Status Sync() = 0;
  // Returns the damage that recovery and readers have detected since open (at most 1000 reports).
  virtual std::vector<DamageReport> Damage() = 0;
  // Returns damage counts by kind and topic.
  virtual std::vector<DamageCount> DamageCounts() = 0;
  virtual EmbeddedLogStats Stats() = 0;
};

// Opens a log. `clock` is borrowed and must outlive the log and all objects created from it. The
// exposition is borrowed and may be null. Returns FailedPrecondition if this or another process
// writes to the directory, InvalidArgument for an invalid option, DataLoss for damage (see
// salvage), and NotFound if read_only is set and no log exists.
StatusOr<std::unique_ptr<EmbeddedLog>> OpenEmbeddedLog(
    const EmbeddedLogOptions& options, Clock* clock,
    self_metrics::Exposition* exposition = nullptr);

}  // namespace pitwall::log
