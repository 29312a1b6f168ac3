// Ingestion of a partition's records into its jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/ingest/partition/ingest_control.h"
#include "services/history/ingest/partition/ingest_inputs.h"
#include "services/history/ingest/partition/partition_jobs.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// Reader for telemetry and events. Decodes the records, adds them to the jobs, and announces the
// changes on the feed. Only the partition's thread may use it. Does not own its dependencies.
class RecordReader {
 public:
  RecordReader(Clock* clock, HistoryStore* store, PartitionJobs* jobs, IngestInputs* inputs,
               IngestControl* control)
      : clock_(clock), store_(store), jobs_(jobs), inputs_(inputs), control_(control) {}

  // Reads telemetry, waiting up to `timeout` for it. Clears `idle` if there were records.
  Status ReadTelemetry(Duration timeout, bool* idle);
  // Reads events from all other inputs. Clears `idle` if there were records.
  Status ReadEvents(bool* idle);
  // Returns the counts that the next call to ReadTelemetry adds to the store's counters.
  IngestCounts* counts() { return &counts_; }

 private:
  // Adds a telemetry record to its job. Returns false if the thread is stopping.
  bool OnTelemetry(const Record& record);
  void OnEvent(size_t input, const Record& record);
  // Adds the counts to the store's counters.
  void CountRecords(size_t records);
  // Announces the jobs with new samples. Returns false if the thread is stopping.
  bool AnnounceSamples();
  // Waits until the catalog is readable and returns the loaded job, or null if the thread is
  // stopping.
  StoredJobPtr Loaded(const std::string& id);

  Clock* const clock_;
  HistoryStore* const store_;
  PartitionJobs* const jobs_;
  IngestInputs* const inputs_;
  IngestControl* const control_;
  codec::BatchDecoder decoder_;
  std::set<std::string> touched_;  // jobs with samples since the last change notification
  IngestCounts counts_;
};

}  // namespace pitwall::history
