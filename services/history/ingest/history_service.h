// The history of all jobs: written from the log, read through History, changed through
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
#include "services/self_metrics/exposition.h"

namespace pitwall::history {

// Call Open, Start, and Stop from one thread, all else from any. Clock and log are borrowed.
class HistoryService final : public HistoryAdmin {
 public:
  // DataLoss: the catalog is damaged; the message names the file and the remedy.
  static StatusOr<std::unique_ptr<HistoryService>> Open(Clock* clock, Log* log,
                                                        HistoryOptions options);
  ~HistoryService() override;

  // Follows the log with one thread per partition. The telemetry topic must exist.
  Status Start();
  void Stop();  // idempotent
  // Error: the store rejects data, or the disk is full.
  Status Health() const;
  // OK: all records that the log held at the start have been read.
  Status Ready() const;
  void RegisterMetrics(self_metrics::Exposition* exposition);

  const History& history() const { return *reader_; }
  const StoreCounters& counters() const { return store_->counters(); }
  uint64_t disk_bytes() const;

  // Runs one pass of retention by bytes and time, which also runs every 10 s.
  Status EnforceBounds();

  Status DeleteJob(std::string_view job) override;
  Status ArchiveJob(std::string_view job, const std::string& folder) override;

 private:
  HistoryService(Clock* clock, Log* log, HistoryOptions options);
  StatusOr<StoredJobPtr> Finished(std::string_view job) const;
  PartitionIngest* IngestOf(const StoredJobPtr& job) const;

  Clock* const clock_;
  Log* const log_;
  const HistoryOptions options_;
  std::unique_ptr<HistoryStore> store_;
  std::unique_ptr<SegmentQuery> reader_;
  std::vector<std::unique_ptr<PartitionIngest>> ingests_;  // partitions of this share
  int32_t partitions_ = 0;                                 // over all shares
  std::unique_ptr<Retention> retention_;
  std::vector<self_metrics::Registration> registrations_;
};

}  // namespace pitwall::history
