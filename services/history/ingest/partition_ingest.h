// Ingestion of one partition. It reads the telemetry and events of the partition's jobs and seals
// their windows. Only this class modifies those jobs.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/flush/flush_input.h"
#include "services/history/flush/segment_writer.h"
#include "services/history/ingest/history_options.h"
#include "services/history/store/history_store.h"
#include "services/io/io.h"

namespace pitwall::history {

// Start and Stop must be called from the same thread; all other functions may be called from any
// thread. Does not own its dependencies.
class PartitionIngest {
 public:
  PartitionIngest(Clock* clock, Log* log, HistoryStore* store, const HistoryOptions* options,
                  int32_t partition, int32_t partitions);
  ~PartitionIngest();

  void Start();
  // Requests that the thread stop reading. Stop then waits for the thread and seals the rows in
  // memory if there is disk space.
  void RequestStop();
  void Stop();
  Status Health() const;
  // Returns whether all records that were in the log at the start have been read.
  bool caught_up() const { return caught_up_; }
  int64_t lag() const { return lag_; }  // number of unread telemetry records
  size_t head_bytes() const { return head_bytes_; }

  // Runs `work` on the partition's thread and waits for it. Returns Unavailable if the thread is
  // not running.
  Status Do(std::function<Status()> work);
  // Returns false if the stored data of the job was written before its partition moved to another
  // process.
  bool Owns(const StoredJob& job) const;
  // Seals all unsealed rows of the job. SealJob, DeleteJob, and DropRaw must run on the partition's
  // thread.
  Status SealJob(const StoredJobPtr& job);
  Status DeleteJob(const StoredJobPtr& job);
  // Drops the raw samples of a sealed window and keeps its rollups.
  Status DropRaw(const StoredJobPtr& job, int64_t window_ns);

 private:
  // A topic partition that the thread reads.
  struct Input {
    TopicPartition at;
    EventTopic topic = EventTopic::kIssues;  // unused for telemetry
    std::unique_ptr<PartitionReader> reader;
    LogFingerprint mark;  // position of the newest record that was read
    int64_t retry_ns = 0;
  };

  void Loop();
  Status Step();
  Status OpenInput(Input* input);
  StatusOr<ReadPosition> PositionOf(const Input& input) const;
  // Polls records. Counts and logs gaps in the input.
  Status Poll(Input* input, int64_t timeout_ns, std::vector<Record>* records);
  Status ReadTelemetry(int64_t timeout_ns, bool* idle);
  Status ReadEvents(Input* input, bool* idle);
  void OnRecord(const Input& input, const Record& record);
  // Waits until the catalog is readable and returns the loaded job, or null if the thread is
  // stopping.
  StoredJobPtr Loaded(const std::string& id);
  // Unloads jobs that were not used recently.
  void UnloadUnused();
  bool Buried(std::string_view job, size_t input, int64_t offset) const;
  void RunWork();
  void SetHealth(const Status& status);
  void NoteMemory();
  size_t MemoryShare() const;

  // The following functions implement saving and sealing (partition_flush.cc).
  Status SaveIfDue(bool force);
  Status Save(store::DatabaseChange change);
  void PutPositions(const StoredJob* sealed_job, int64_t sealed_window,
                    store::DatabaseChange* change);
  Status SealDue();
  Status SaveAtStop();
  // Returns the starts of the windows with rows in memory.
  static std::vector<int64_t> Heads(const StoredJob& job);
  Status SealWindow(const StoredJobPtr& job, int64_t window_ns);
  // An unsealed window and the memory that it uses.
  struct Heavy {
    StoredJobPtr job;
    int64_t window_ns = 0;
    size_t bytes = 0;
  };
  // Returns false if no rows could be moved.
  bool MoveMost(std::vector<Heavy> windows, size_t share);
  // Moves the rows of an unsealed window into a file.
  Status MoveRows(const StoredJobPtr& job, int64_t window_ns);
  // Drops the late rows of a window whose segment is damaged, so that ingestion continues.
  void GiveUp(const StoredJobPtr& job, int64_t window_ns, const Status& damage);
  StatusOr<std::unique_ptr<const FlushInput>> Gather(const StoredJob& job, int64_t window_ns) const;
  // Writes a segment, which is not in the catalog yet. Returns DataLoss if an earlier segment of
  // the window is damaged.
  Status Write(const StoredJob& job, const FlushInput& content, SegmentMeta* facts);
  // Commits the segment to the catalog and frees the window's rows in memory.
  Status Adopt(const StoredJobPtr& job, const FlushInput& content, const SegmentMeta& facts);
  Status SealWithoutRows(const StoredJobPtr& job, const FlushInput& content, int64_t window_ns);
  // Returns whether many telemetry records are unread. They may include records of a job that has
  // ended.
  bool Behind() const;
  using JobList = std::shared_ptr<const std::vector<StoredJobPtr>>;
  JobList Jobs();

  Clock* const clock_;
  Log* const log_;
  HistoryStore* const store_;
  const HistoryOptions& options_;
  const int32_t partition_;
  const int32_t partitions_;
  std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> caught_up_{false};
  std::atomic<int64_t> lag_{0};
  std::atomic<size_t> head_bytes_{0};

  // The following members are used only by the partition's thread.
  std::array<Input, 5> inputs_;  // for telemetry, issues, actions, captures, and notifications
  codec::BatchDecoder decoder_;
  JobList jobs_;  // jobs of the partition at jobs_version_
  uint64_t jobs_version_ = 0;
  std::set<std::string> touched_;  // jobs with samples since the last change notification
  std::map<std::string, SegmentHints> hints_;  // by job ID
  std::shared_ptr<MemTableFile> head_file_;  // file for moved chunks; chunks keep full files alive
  IngestCounts counts_;
  int64_t saved_ns_ = 0;
  int64_t sealed_ns_ = 0;
  int64_t settled_ns_ = 0;
  int64_t unloaded_ns_ = 0;
  int64_t begin_end_ = -1;  // end of the telemetry log at the start
  std::map<std::string, Tombstone> tombstones_;
  int64_t saved_telemetry_ = -1;

  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
  Status damage_ ABSL_GUARDED_BY(mutex_);  // damage of a segment; cleared by a restart
  struct Work {
    std::function<Status()> run;
    Status status;
    std::unique_ptr<Wakeup> done;
  };
  std::deque<std::shared_ptr<Work>> work_ ABSL_GUARDED_BY(mutex_);
  PartitionReader* polled_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace pitwall::history
