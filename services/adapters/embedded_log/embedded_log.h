// The log (services/io/io.h) on local disk: Pitwall without a broker.
//
// <dir>/LOCK                                     flock of the one writer
// <dir>/topics/<topic>/topic.conf                partitions, compaction, retention: text
// <dir>/topics/<topic>/<partition>/<base>.seg    batches of records, each with CRC32C
// <dir>/commits/<number>.journal                 one frame per commit: what is visible, and who
// read how far
//
// A commit writes its records to the segments and then one frame to the journal; the frame is the
// commit. Readers see what a frame covers, and nothing else. After a crash whatever no frame covers
// is cut off.
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

namespace pitwall::files {
class DiskFaults;  // tests make writes fail with it
}  // namespace pitwall::files

namespace pitwall::log {

enum class FsyncPolicy {
  kAlways,    // a commit returns when it is on the disk; commits that wait together share the flush
  kInterval,  // flushed every fsync_interval_ms by a thread of the log; a power cut loses at most
              // that, whole commits
  kNever,     // flushed when the system likes (and on close): survives kill -9, not a power cut
};

struct EmbeddedLogOptions {
  std::string dir;         // made when it is not there (never when read_only)
  bool read_only = false;  // what is committed at open; takes no lock, writes nothing
  // Go on with damage: readers hear of the records that are lost. Without it Open fails then;
  // `pitwall log repair` is the way out (log_repair.h).
  bool salvage = false;
  FsyncPolicy fsync = FsyncPolicy::kInterval;
  int64_t fsync_interval_ms = 200;
  int64_t segment_bytes =
      64 << 20;  // a segment is closed at the first commit after it reached this
  int64_t segment_ms =
      6 * 3'600'000;  // … or whose records would be this much younger than its first
  size_t max_record_bytes = 16 << 20;  // key + value + headers; at most 16 MiB
  bool compress = true;                // zstd for batches that shrink
  int64_t checkpoint_bytes =
      4 << 20;  // the journal is rewritten when it has grown by this (and by its own size)
  double compaction_dirty_share =
      0.5;  // a compacted topic is rewritten when this share of its closed bytes is new
  size_t compaction_map_bytes = 64
                                << 20;  // memory for keys in one pass; the rest waits for the next
  int64_t tombstone_retention_ms = 24 * 3'600'000;
  // Segments are read and checked at open, the newest first, up to this; the rest by the thread of
  // the log after it. -1: all at open.
  int64_t verify_bytes = 256 << 20;
  // A thread of the log does interval flushes, retention and compaction. Without it the owner calls
  // Sync() and Maintain().
  bool background = true;
  std::shared_ptr<files::DiskFaults> faults;  // tests only
};

// What kind of damage: the label of the metric.
enum class DamageKind {
  kSegmentMissing,  // the file is gone
  kSegmentCut,      // it is shorter than what was committed
  kSegmentHeader,   // its first bytes, which say nothing that its name does not
  kRecords,         // records in it cannot be read
  kOffsets,         // offsets that no file holds
  kJournal,         // the commit journal does not parse
  kJournalCut,      // it ends before what was flushed
  kJournalMissing,  // it is gone
  kSyncedMark,      // the note of how far it was flushed
  kTopicFile,       // topic.conf does not parse, or is gone
  kTopicMissing,    // the topic's folder is gone
  kUnflushed,       // commits that a power cut kept from the disk
};
std::string_view DamageKindName(DamageKind kind);

struct DamageReport {
  DamageKind kind = DamageKind::kRecords;
  std::string place;    // file and byte position
  std::string message;  // what is wrong, which offsets are gone
  std::string topic;    // "": of no topic
  int32_t partition = -1;
  int64_t from_offset = -1;  // offsets that are lost; -1: none, or not known
  int64_t to_offset = -1;    // the first that is not
  bool healed = false;       // made good at open, without any loss
  std::string path;          // of the file
};

struct DamageCount {
  DamageKind kind = DamageKind::kRecords;
  std::string topic;
  bool healed = false;
  int64_t count = 0;
};

struct EmbeddedLogStats {
  int64_t commits = 0;  // journal frames with records or a position
  int64_t records = 0;  // appended since open
  int64_t bytes = 0;    // written to segments since open
  int64_t flushes = 0;  // fsync calls on segments and journal
  int64_t failed_flushes = 0;
  int64_t suspended_partitions = 0;  // now: what was appended to them cannot be flushed
  int64_t journal_bytes = 0;         // size of the journal file now
  int64_t checkpoints = 0;
  int64_t segments = 0;          // files of all partitions now
  int64_t segment_bytes = 0;     // their committed bytes
  int64_t segments_deleted = 0;  // by retention
  int64_t compactions = 0;
  int64_t clock_ahead_ns = 0;        // append times against the wall clock, now
  bool retention_suspended = false;  // the wall clock jumped ahead: nothing is deleted by age
};

// Thread-safe, as io.h says. Readers, appenders and committers may outlive it: appends then fail
// with FailedPrecondition, readers read on what was committed. `Committed` and `StorePosition` name
// topics of this log.
//
// Errors beyond io.h: ResourceExhausted when the disk is full or the process has no descriptor
// left, Unavailable when the disk fails (the commit is undone; later ones work once it has passed);
// FailedPrecondition when opened read-only. What concerns one partition names it and leaves the
// others alone: records of it that cannot be flushed stop it until a flush works.
class EmbeddedLog : public Log {
 public:
  // Names in alphabetical order.
  virtual std::vector<std::string> Topics() = 0;
  virtual StatusOr<TopicConfig> Config(std::string_view topic) = 0;
  // Deletes the segments whose records are all older than their topic's retention. Runs by itself
  // at open, when a segment is closed, and every minute, if `background`.
  virtual Status ApplyRetention() = 0;
  // Retention, then compaction where the dirty share asks for it. May take long; appends go on
  // meanwhile.
  virtual Status Maintain() = 0;
  // Everything committed so far is on the disk when it returns.
  virtual Status Sync() = 0;
  // What recovery and readers found broken since open (at most 1000 reports).
  virtual std::vector<DamageReport> Damage() = 0;
  // All of it counted, by kind and topic.
  virtual std::vector<DamageCount> DamageCounts() = 0;
  virtual EmbeddedLogStats Stats() = 0;
};

// `clock` is borrowed and must outlive the log and all that came from it.
// FailedPrecondition: another process (or this one) writes in the directory. InvalidArgument: an
// option. DataLoss: something is damaged (see salvage). NotFound: read-only and nothing there.
StatusOr<std::unique_ptr<EmbeddedLog>> OpenEmbeddedLog(const EmbeddedLogOptions& options,
                                                       Clock* clock);

}  // namespace pitwall::log
