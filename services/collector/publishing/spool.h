// On-disk spool of unpublished records.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/publishing/spool_position_file.h"

namespace pitwall::collector {

// A record for the telemetry topic that has not been appended to the log yet.
struct PendingRecord {
  std::string key;
  std::string value;
  std::string note;  // encoded ClientCursor of the client's updates up to this record; may be empty
  size_t bytes() const { return key.size() + value.size() + note.size(); }
};

struct SpoolHooks {
  // Called during Open for each note on disk, even if its record is acknowledged.
  std::function<void(std::string_view note)> on_note;
  // Called before the removal of a segment and its notes.
  std::function<void()> before_remove;
};

// First-in, first-out queue in segment files in one directory, with a size limit in bytes. Above
// the limit, the oldest segment is dropped and its records are counted as dropped. Appended records
// survive a process crash and, after Sync, also a machine crash. The acknowledged position is also
// stored on disk, and unacknowledged records are returned again after a restart. A damaged record
// is skipped and counted. A torn record ends its segment.
//
// Files:
//   NNNNNNNNNNNNNNNNNNNN.spool  8 bytes "PWSPOOL2", then the records. A record is the length and
//                               the CRC-32C of its payload as 4 bytes little-endian each, then the
//                               payload: the lengths of key and note as 4 bytes each, key, note,
//                               and value. "PWSPOOL1", the previous format, has no notes.
//   position                    the acknowledged position, in two alternating slots
//   lock                        locked while a collector uses the directory
// The last segment is kept even if all of its records are acknowledged, so that a record that is
// published immediately does not require a new file; Trim removes the segment.
//
// Not thread-safe.
class Spool {
 public:
  // Opens the spool. Returns FailedPrecondition if another process uses the directory. The caller
  // owns the counters.
  static StatusOr<std::unique_ptr<Spool>> Open(const std::string& dir, uint64_t max_bytes,
                                               Counters* counters, SpoolHooks hooks = {});
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  using Position = SpoolPosition;

  // Appends all records and sets `*end` to the position after them. After an error, some records
  // may be on disk; retrying then duplicates them. Returns ResourceExhausted if the disk is full.
  Status Append(std::span<const PendingRecord> records, Position* end);
  // Reads records starting at the acknowledged position: at most `max_records` records and about
  // `max_bytes` bytes, but at least one record. Sets `*end` to the position after them. Adds no
  // records if the spool is empty.
  Status Read(size_t max_records, size_t max_bytes, std::vector<PendingRecord>* out, Position* end);
  // Marks all records before `position` as published. Has no effect if `position` is before the
  // acknowledged position.
  Status Acknowledge(const Position& position);

  bool empty() const { return records_ == 0; }
  uint64_t records() const { return records_; }  // unacknowledged records
  uint64_t bytes() const { return bytes_; }      // bytes on disk
  uint64_t pending_bytes() const;                // unacknowledged bytes
  // Removes acknowledged segments, including the last one.
  Status Trim();
  // Drops the oldest segment and counts its records. Returns false if the spool has no segments.
  bool DropOne();
  // Syncs appended records to disk, so that they survive a machine crash.
  Status Sync();

 private:
  struct Segment {
    uint64_t number = 0;
    uint64_t size = 0;     // size up to the end of the last complete record
    uint64_t records = 0;  // includes acknowledged records
    bool has_notes = true;
  };

  Spool(std::string dir, uint64_t max_bytes, Counters* counters, SpoolHooks hooks);
  Status Load();
  StatusOr<Segment> Scan(uint64_t number);
  Status NewSegment();
  Status DropOldest();
  Status RemoveFront();
  void CloseWriter();
  std::string PathOf(uint64_t number) const;
  void UpdateGauges();

  const std::string dir_;
  const uint64_t max_bytes_;
  const uint64_t segment_bytes_;
  Counters* const counters_;
  const SpoolHooks hooks_;
  int lock_fd_ = -1;
  int write_fd_ = -1;  // the last segment; if -1, the next append starts a new segment
  int read_fd_ = -1;
  uint64_t read_number_ = 0;
  uint64_t next_number_ = 1;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
  uint64_t gauged_records_ = 0;  // share of this spool in the gauges
  uint64_t gauged_bytes_ = 0;
  std::deque<Segment> segments_;
  Position acknowledged_;
  SpoolPositionFile position_file_;
  std::string buffer_;
};

}  // namespace pitwall::collector
