// State of one job: its sources, its windows (sealed, in memory, or both), and the records not yet
// saved to the catalog.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "services/base/mutex.h"
#include "services/history/job_overview.h"
#include "services/history/memtable/mem_table.h"
#include "services/history/segments/segment_meta.h"
#include "services/history/store/catalogue.h"
#include "services/history/store/job_event_fold.h"
#include "services/history/windows/node_means.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

struct WindowEntry {
  std::optional<SegmentMeta> sealed;
  std::unique_ptr<MemTable> head;            // null if all rows are sealed
  std::map<OriginKey, SequenceRanges> seen;  // batches with content in `head` or `sealed`
  int64_t first_offset = INT64_MAX;          // lowest log offset of the head's content
  int64_t head_since_ns = 0;                 // monotonic time
};

struct IngestCounts {
  uint64_t samples = 0;
  uint64_t duplicates = 0;  // number of batches
  uint64_t ahead = 0;       // rows that are too far ahead of their record's append time
  uint64_t unread = 0;      // frames whose schema was missing or did not match
  uint64_t after_raw = 0;   // batches for windows whose raw samples were dropped
};

// Location of a record in the log.
struct RecordPlace {
  int64_t offset = 0;
  int64_t append_time_ns = 0;
  int64_t now_ns = 0;  // monotonic time
};

// Only the thread of the job's partition modifies the job, while holding the mutex; that thread
// reads without locking. Other threads read while holding the mutex.
//
// An unused job is unloaded: its overview stays in memory, while its sources, schemas, and windows
// are only in the catalog. HistoryStore loads the job again before use, from any thread. An
// unloaded job has no windows, so only Life, newest_ns, disk_bytes, and ended are valid.
class StoredJob {
 public:
  // `number` is unique within the store, even if the job is stored again after its deletion.
  StoredJob(std::string id, uint64_t number) : id_(std::move(id)), number_(number) {}
  StoredJob(const StoredJob&) = delete;
  StoredJob& operator=(const StoredJob&) = delete;

  const std::string& id() const { return id_; }
  uint64_t number() const { return number_; }
  Mutex& mutex() const { return mutex_; }

  // Restores data from the catalog when the job is loaded.
  void Restore(SourceMeta boot);
  // Adds a boot found in a segment, or extends the times of the boot if it is already known.
  // Returns the boot.
  const SourceMeta& RestoreSeen(const SourceMeta& boot);
  void Restore(SharedSchema schema);
  void Restore(SegmentMeta facts, std::map<OriginKey, SequenceRanges> seen);
  void RestoreEvent(const IssueEvent& event) { story_.OnEvent(event); }

  void Ingest(const Batch& batch, const RecordPlace& at, IngestCounts* counts);
  void OnEvent(const IssueEvent& event) {
    used_ = true;
    story_.OnEvent(event);
  }
  void AddRecord(KeptRecord record) { records_.push_back(std::move(record)); }
  // Drops frames whose schema has been missing since `before_ns` (monotonic).
  void GiveUpWaiting(int64_t before_ns, IngestCounts* counts);

  // Collects the unsaved changes for a transaction. Collected marks these changes, including the
  // first `records` records, as saved.
  void Collect(store::DatabaseChange* change) const;
  void Collected(size_t records);
  // Replaces the window's head with the segment.
  void Sealed(int64_t window_ns, SegmentMeta facts);
  // Moves the packed rows of the window's head into the file.
  Status MoveHead(int64_t window_ns, const std::shared_ptr<MemTableFile>& file);
  void Unsealed(int64_t window_ns);

  const std::map<int64_t, WindowEntry>& windows() const { return windows_; }
  const std::deque<KeptRecord>& records() const { return records_; }
  bool waiting() const { return !waiting_.empty(); }
  bool dirty() const { return !records_.empty() || !dirty_boots_.empty() || !new_schemas_.empty(); }
  bool ended() const { return story_.ended(); }
  // Returns whether few further rows are expected in the window. `behind` means that much telemetry
  // is unread. In that case, the job's progress counts instead of its end, because the end is read
  // long before the telemetry.
  bool IsOver(int64_t window_ns, int64_t grace_ns, bool behind) const {
    return newest_ns_ - (window_ns + kWindowNs) > grace_ns ||
           (ended() && (!behind || newest_ns_ >= story_.ended_ns()));
  }
  int64_t newest_ns() const { return newest_ns_; }
  size_t head_bytes() const { return head_bytes_; }
  // Returns the lowest offset of data that is only in memory.
  int64_t least_offset() const;
  // Returns the number of seals and drops. Readers of segments compare this number to detect
  // changes.
  uint64_t version() const { return version_; }
  JobOverview Life() const;
  JobLifePtr SharedLife() const;
  uint64_t disk_bytes() const;  // size of the job's segments

  // The following members require the mutex, except Unpin.
  bool loaded() const { return summary_ == nullptr; }
  // Unloads the job. Returns false if the job is in use, was used since the last call, or has
  // unsaved data.
  bool Unload();
  // Ends a load. OK means that all data in the catalog was restored; after an error, the job stays
  // unloaded.
  void EndLoad(const Status& loaded);
  // Pins the job, so that it is not unloaded.
  void Pin() { ++pins_; }
  void Unpin() { --pins_; }

 private:
  void FreeLoaded();  // frees the parts that an unloaded job does not have

  struct Summary {
    JobLifePtr life;
    uint64_t disk_bytes = 0;
  };
  // A frame that waits for its schema.
  struct Waiting {
    OriginPtr origin;
    uint64_t schema_id = 0;
    uint64_t sequence = 0;
    std::string mode;
    std::vector<int64_t> times, steps;
    std::vector<double> values;
    int64_t since_ns = 0;
    std::vector<int64_t> windows;  // starts of the windows that accepted the batch
  };
  // Cached pointers to the state of one boot. Each batch needs them, and a lookup would compare
  // long names with common prefixes.
  struct Source {
    const OriginKey* key = nullptr;
    SourceMeta* boot = nullptr;
    bool dirty = false;
    int64_t window_ns = INT64_MIN;   // window to which `seen` belongs
    SequenceRanges* seen = nullptr;  // null if not looked up yet
  };
  struct ByNames {
    using is_transparent = void;
    using Names = std::pair<std::string_view, std::string_view>;
    bool operator()(const Names& a, const Names& b) const { return a == b; }
    size_t operator()(const Names& names) const { return absl::Hash<Names>()(names); }
  };
  // The batch being ingested and the windows that accept it.
  struct Reading {
    const Batch* batch;
    RecordPlace at;
    Source* source;
    SourceMeta* boot;
    IngestCounts* counts;
    // nullptr if the batch is a duplicate or the window accepts no rows.
    std::map<int64_t, MemTable*> admitted;
    bool duplicate = false;
  };

  Source* SourceOf(const Batch& batch);
  MemTable* Admit(int64_t window_ns, Reading* reading);
  void NoteSteps(const Schema& schema);
  bool EndsStep(const Frame& frame, size_t row) const;
  void AddFrame(const Frame& frame, Reading* reading);
  void AddKnown(const SharedSchema& schema, const Frame& frame, const OriginPtr& origin,
                uint64_t sequence, const std::function<MemTable*(int64_t)>& window,
                IngestCounts* counts);
  // Adds the derived series for the rows [from, to).
  void AddMade(const SharedSchema& schema, const Frame& frame, size_t from, size_t to,
               const OriginPtr& origin, uint64_t sequence, MemTable* head);
  void Release(const SharedSchema& schema, IngestCounts* counts);
  void Describe(const Batch& batch, Source* source);

  const std::string id_;
  const uint64_t number_;
  mutable Mutex mutex_;
  std::map<OriginKey, SourceMeta> boots_;
  // Caches for the boots in boots_.
  absl::flat_hash_map<OriginKey, std::unique_ptr<Source>, ByNames, ByNames> sources_;
  absl::flat_hash_map<uint64_t, SharedSchema> schemas_;
  // Column of the duration in each schema with step durations.
  absl::flat_hash_map<uint64_t, size_t> step_columns_;
  // Derived series by schema ID; null if the schema has none.
  absl::flat_hash_map<uint64_t, std::unique_ptr<const NodeMeans>> made_;
  std::map<int64_t, WindowEntry> windows_;  // by window start
  std::vector<double> made_cells_;          // scratch buffer
  std::deque<Waiting> waiting_;
  size_t waiting_bytes_ = 0;
  JobEventFold story_;
  std::deque<KeptRecord> records_;  // events that are not saved yet
  std::vector<Source*> dirty_boots_;
  std::vector<uint64_t> new_schemas_;
  int64_t newest_ns_ = INT64_MIN;
  size_t head_bytes_ = 0;
  uint64_t version_ = 0;
  std::unique_ptr<const Summary> summary_;  // set while the job is unloaded
  std::atomic<size_t> pins_{0};
  bool used_ = true;  // since the last call of Unload
};

}  // namespace pitwall::history
