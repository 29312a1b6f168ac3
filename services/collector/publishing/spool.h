// Spool of unpublished records, on disk.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/collector/metrics/counters.h"

namespace pitwall::collector {

// A record of the telemetry topic, before the log has it.
struct PendingRecord {
  std::string key;
  std::string value;
  std::string note;  // how far its client's updates are in with it (ClientCursor); may be empty
  size_t bytes() const { return key.size() + value.size() + note.size(); }
};

struct SpoolHooks {
  // Each note on disk, acknowledged or not, while it opens.
  std::function<void(std::string_view note)> on_note;
  // Before a segment, with the notes in it, is removed.
  std::function<void()> before_remove;
};

// A first-in-first-out queue in segment files of one directory, bounded in bytes: beyond the bound
// the oldest segment goes, and its records are counted as dropped. What was appended survives the
// death of the process (of the machine: after Sync). The acknowledged position is on disk too; what
// was appended and not acknowledged comes again after a restart. A record that is damaged is
// skipped and counted, a torn end is the end of its segment.
//
// Files: NNNNNNNNNNNNNNNNNNNN.spool (8 bytes "PWSPOOL2", then per record: length and CRC-32C of its
// payload as 4 bytes little-endian each, then the payload: lengths of key and note as 4 bytes each,
// key, note, value; "PWSPOOL1", of the version before, has no notes), `position` (the acknowledged
// position, two slots in turn) and `lock`, which keeps a second collector out. The last segment
// stays when all of it is acknowledged, so that a record that is published at once costs no file;
// Trim removes it.
//
// Not thread-safe.
class Spool {
 public:
  // FailedPrecondition: another process has it. The counters are borrowed.
  static StatusOr<std::unique_ptr<Spool>> Open(const std::string& dir, uint64_t max_bytes,
                                               Counters* counters, SpoolHooks hooks = {});
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // A place between two records.
  struct Position {
    uint64_t segment = 0;
    uint64_t offset = 0;
    uint64_t index = 0;  // records of the segment before it
    friend auto operator<=>(const Position& a, const Position& b) {
      return std::pair(a.segment, a.offset) <=> std::pair(b.segment, b.offset);
    }
    friend bool operator==(const Position& a, const Position& b) {
      return a.segment == b.segment && a.offset == b.offset;
    }
  };

  // Appends all; `*end` is the place behind them. On error some may be there already: appending
  // again is at-least-once. ResourceExhausted: disk full.
  Status Append(std::span<const PendingRecord> records, Position* end);
  // Reads from the acknowledged position, at most so many records and (always one, then softly)
  // bytes. `*end` is the place behind them. With nothing left, nothing is added.
  Status Read(size_t max_records, size_t max_bytes, std::vector<PendingRecord>* out, Position* end);
  // Everything before `position` is published. One that lies behind what was acknowledged before
  // changes nothing.
  Status Acknowledge(const Position& position);

  bool empty() const { return records_ == 0; }
  uint64_t records() const { return records_; }  // not acknowledged
  uint64_t bytes() const { return bytes_; }      // on disk
  uint64_t pending_bytes() const;                // not acknowledged
  // Removes what is acknowledged, the last segment too.
  Status Trim();
  // Gives up the oldest segment (counted). False: there is none.
  bool DropOne();
  // Makes what was appended survive the machine.
  Status Sync();

 private:
  struct Segment {
    uint64_t number = 0;
    uint64_t size = 0;     // up to the end of its last whole record
    uint64_t records = 0;  // in it, acknowledged ones too
    bool has_notes = true;
  };

  Spool(std::string dir, uint64_t max_bytes, Counters* counters, SpoolHooks hooks);
  Status Load();
  Status LoadPosition();
  Status SavePosition();
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
  int position_fd_ = -1;
  int write_fd_ = -1;  // the last segment; -1: the next append begins a new one
  int read_fd_ = -1;
  uint64_t read_number_ = 0;
  uint64_t next_number_ = 1;
  uint64_t saves_ = 0;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
  uint64_t told_records_ = 0;  // in the gauges
  uint64_t told_bytes_ = 0;
  std::deque<Segment> segments_;
  Position acknowledged_;
  std::string buffer_;
};

}  // namespace pitwall::collector
