// Topic partitions that one ingestion thread reads, and the positions from which a restart
// continues.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/store/database.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/history/ingest/history_options.h"
#include "services/history/ingest/partition/ingest_control.h"
#include "services/history/store/history_store.h"
#include "services/io/io.h"
#include "services/io/topic_follower.h"

namespace pitwall::history {

// Inputs for telemetry, issues, actions, captures, and notifications, in this order. caught_up and
// lag may be called from any thread, and the other functions only on the partition's thread. Does
// not own its dependencies.
class IngestInputs {
 public:
  static constexpr size_t kTelemetry = 0;
  static constexpr size_t kCount = 5;

  IngestInputs(Clock* clock, Log* log, HistoryStore* store, IngestControl* control,
               const HistoryOptions& options, int32_t partition);

  // Loads the tombstones of deleted jobs. Must be called before the thread starts.
  void LoadTombstones() { tombstones_ = store_->Tombstones(); }
  // Opens the inputs that are not open yet if their topics exist.
  Status Open();
  bool open(size_t input) const { return inputs_[input].follower->is_open(); }
  // Returns the type of the records. Must not be called for telemetry.
  EventTopic topic(size_t input) const { return inputs_[input].topic; }
  // Polls records from an open input. Counts and logs gaps in the input. After the log was
  // replaced, reads the new log from its start.
  Status Poll(size_t input, Duration timeout, std::vector<Record>* records);

  // Returns true if the record was read before its job was deleted.
  bool Buried(std::string_view job, size_t input, const Record& record) const;
  // Returns the tombstone for a job that is being deleted.
  Tombstone TombstoneNow() const;
  // Records that the job with this hash was deleted.
  void Bury(const std::string& hash, const Tombstone& tombstone) { tombstones_[hash] = tombstone; }

  // Updates caught_up() after telemetry was read.
  void NoteProgress();
  // Measures the number of unread telemetry records.
  void MeasureLag();
  // Returns whether all records that were in the log at startup have been read.
  bool caught_up() const { return caught_up_; }
  int64_t lag() const { return lag_; }  // number of unread telemetry records
  // Returns whether many telemetry records are unread. They may include records of a job that has
  // ended.
  bool Behind() const;

  // Returns the offset of the next telemetry record, or -1 if the topic is not open.
  int64_t telemetry_offset() const;
  // Adds the positions to the change. The telemetry position is at most `first_unsealed`.
  void PutPositions(int64_t first_unsealed, store::DatabaseChange* change) const;

 private:
  // A topic partition that the thread reads.
  struct Input {
    EventTopic topic = EventTopic::kIssues;  // unused for telemetry
    std::unique_ptr<TopicFollower> follower;
    int64_t retry_ns = 0;
  };

  Status OpenInput(Input* input);
  StatusOr<ReadPosition> PositionOf(const Input& input) const;
  std::string RowKey(const Input& input) const;

  Clock* const clock_;
  Log* const log_;
  HistoryStore* const store_;
  IngestControl* const control_;
  const int32_t partition_;
  std::array<Input, kCount> inputs_;
  std::map<std::string, Tombstone> tombstones_;
  std::atomic<bool> caught_up_{false};
  std::atomic<int64_t> lag_{0};
};

}  // namespace pitwall::history
