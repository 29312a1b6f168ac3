// History of all jobs. Written from the log, read through History, and modified through
// HistoryAdmin.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/history/history.h"
#include "services/history/ingest/history_options.h"
#include "services/history/ingest/partition_ingest.h"
#include "services/history/ingest/retention.h"
#include "services/history/query/segment_query.h"
#include "services/history/store/history_store.h"
#include "services/io/io.h"
#include "services/self_metrics/probe.h"

namespace pitwall::history {

// Call Open, Start, and Stop from one thread; other methods may be called from any thread. The
// clock, the log, and the exposition, which may be null, are not owned.
class HistoryService final : public HistoryAdmin {
 public:
  // Returns DataLoss with the file and the fix if the catalog is damaged.
  static StatusOr<std::unique_ptr<HistoryService>> Open(
      Clock* clock, Log* log, HistoryOptions options,
      self_metrics::Exposition* exposition = nullptr);
  ~HistoryService() override;

  // Starts one thread per partition that reads the log. The telemetry topic must exist.
  Status Start();
  void Stop();  // idempotent
  // Returns an error if the store rejects data or if the disk is full.
  Status Health() const;
  // Returns OK once all records that were in the log at startup have been read.
  Status Ready() const;

  const History& history() const { return *reader_; }
  const StoreCounters& counters() const { return store_->counters(); }
  uint64_t disk_bytes() const;

  // Enforces the size and age limits once. A background thread does the same every 10 s.
  Status EnforceBounds();

  Status DeleteJob(std::string_view job) override;
  Status ArchiveJob(std::string_view job, const std::string& folder) override;

 private:
  HistoryService(Clock* clock, Log* log, HistoryOptions options,
                 self_metrics::Exposition* exposition);
  void AddMetrics();
  StatusOr<StoredJobPtr> Finished(std::string_view job) const;
  PartitionIngest* IngestOf(const StoredJobPtr& job) const;

  Clock* const clock_;
  Log* const log_;
  const HistoryOptions options_;
  std::unique_ptr<HistoryStore> store_;
  std::unique_ptr<SegmentQuery> reader_;
  std::vector<std::unique_ptr<PartitionIngest>> ingests_;  // partitions of this process
  int32_t partitions_ = 0;  // number of partitions across all processes
  std::unique_ptr<Retention> retention_;
  self_metrics::Probe probe_;
};

}  // namespace pitwall::history
