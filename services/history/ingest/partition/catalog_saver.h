// Transactions that save the state of a partition in the catalog.
#pragma once

#include <cstdint>

#include "services/adapters/store/database.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/history/ingest/history_options.h"
#include "services/history/ingest/partition/ingest_inputs.h"
#include "services/history/ingest/partition/partition_jobs.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// Saves the read positions and the unsaved changes of all jobs. Each save is one transaction. Only
// the partition's thread may use it. Does not own its dependencies.
class CatalogSaver {
 public:
  CatalogSaver(Clock* clock, HistoryStore* store, PartitionJobs* jobs, IngestInputs* inputs,
               const HistoryOptions& options)
      : clock_(clock), store_(store), jobs_(jobs), inputs_(inputs), options_(options) {}

  // Saves `change` and all unsaved changes. If `sealed_job` is not null, the change seals its
  // window `window_ns`.
  Status Save(store::DatabaseChange change, const StoredJob* sealed_job, int64_t window_ns);
  // Saves if the save interval has passed and something changed. Occasionally removes discarded
  // files. With `force`, does not wait for the interval.
  Status SaveIfDue(bool force);

 private:
  Clock* const clock_;
  HistoryStore* const store_;
  PartitionJobs* const jobs_;
  IngestInputs* const inputs_;
  const HistoryOptions& options_;
  int64_t saved_ns_ = 0;    // monotonic time
  int64_t settled_ns_ = 0;  // monotonic time
  int64_t saved_telemetry_ = -1;
};

}  // namespace pitwall::history
