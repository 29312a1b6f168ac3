// Ingestion for one partition. It reads the telemetry and events of the partition's jobs and seals
// their windows. Only this class modifies those jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/history/ingest/history_options.h"
#include "services/history/ingest/partition/catalog_saver.h"
#include "services/history/ingest/partition/ingest_control.h"
#include "services/history/ingest/partition/ingest_inputs.h"
#include "services/history/ingest/partition/partition_jobs.h"
#include "services/history/ingest/partition/record_reader.h"
#include "services/history/ingest/partition/seal_schedule.h"
#include "services/history/ingest/partition/window_sealer.h"
#include "services/history/store/history_store.h"
#include "services/io/io.h"

namespace pitwall::history {

// Start and Stop must be called from the same thread; all other functions may be called from any
// thread. Does not own its dependencies.
class PartitionIngest {
 public:
  PartitionIngest(Clock* clock, Log* log, HistoryStore* store, const HistoryOptions* options,
                  int32_t partition, int32_t partitions);
  ~PartitionIngest() { Stop(); }

  void Start();
  // Requests that the thread stop reading. Stop then waits for the thread and seals the rows in
  // memory if there is disk space.
  void RequestStop() { control_.RequestStop(); }
  void Stop() { control_.Stop(); }
  Status Health() const { return control_.Health(); }
  // Returns whether all records that were in the log at startup have been read.
  bool caught_up() const { return inputs_.caught_up(); }
  int64_t lag() const { return inputs_.lag(); }  // number of unread telemetry records
  size_t head_bytes() const { return schedule_.head_bytes(); }

  // Runs `work` on the partition's thread and waits for it. Returns Unavailable if the thread is
  // not running.
  Status Do(std::function<Status()> work) { return control_.Do(std::move(work)); }
  // Returns false if the stored data of the job was written before its partition moved to another
  // process.
  bool Owns(const StoredJob& job) const { return jobs_.Owns(job.id()); }
  // Seals all unsealed rows of the job. SealJob, DeleteJob, and DropRaw must run on the partition's
  // thread.
  Status SealJob(const StoredJobPtr& job) { return sealer_.SealJob(job); }
  Status DeleteJob(const StoredJobPtr& job);
  // Drops the raw samples of a sealed window and keeps its rollups.
  Status DropRaw(const StoredJobPtr& job, int64_t window_ns) {
    return sealer_.DropRaw(job, window_ns);
  }

 private:
  void Loop();
  Status Step();
  Status SaveAtStop();
  // Unloads jobs that have not been used recently.
  void UnloadUnused();

  Clock* const clock_;
  HistoryStore* const store_;
  const HistoryOptions& options_;
  const int32_t partition_;
  IngestControl control_;  // its thread uses the following members, so the destructor calls Stop

  // Other threads use the following members only through the functions above.
  PartitionJobs jobs_;
  IngestInputs inputs_;
  RecordReader reader_;
  CatalogSaver saver_;
  WindowSealer sealer_;
  SealSchedule schedule_;
  int64_t unloaded_ns_ = 0;
};

}  // namespace pitwall::history
