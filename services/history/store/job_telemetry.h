// Telemetry of one job: its sources, schemas, and windows, and the frames waiting for a schema.
#pragma once

#include <cstdint>
#include <string>

#include "services/adapters/store/database.h"
#include "services/history/job_overview.h"
#include "services/history/store/catalogue.h"
#include "services/history/store/job_event_fold.h"
#include "services/history/store/job_schemas.h"
#include "services/history/store/job_sources.h"
#include "services/history/store/job_windows.h"
#include "services/history/store/waiting_frames.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

struct IngestCounts {
  uint64_t samples = 0;
  uint64_t duplicates = 0;  // number of batches
  uint64_t ahead = 0;       // rows that are too far ahead of their record's append time
  uint64_t unread = 0;      // frames whose schema was missing or did not match
  uint64_t after_raw = 0;   // batches for windows whose raw samples were dropped
};

// Telemetry of one job. The threading rules of StoredJob apply.
class JobTelemetry {
 public:
  // Restores data from the catalog when the job is loaded.
  void Restore(SourceMeta boot);
  // Adds a boot found in a segment, or extends its time range if it is already known. Returns the
  // boot.
  const SourceMeta& RestoreSeen(const SourceMeta& boot);
  void Restore(SharedSchema schema) { schemas_.Restore(std::move(schema)); }

  void Ingest(const Batch& batch, const RecordPlace& at, IngestCounts* counts);
  // Drops frames that have waited for their schema since before `before_ns` (monotonic).
  void GiveUpWaiting(int64_t before_ns, IngestCounts* counts) {
    counts->unread += waiting_.DropBefore(before_ns);
  }
  bool waiting() const { return !waiting_.empty(); }

  JobWindows& windows() { return windows_; }
  const JobWindows& windows() const { return windows_; }
  // Returns the time up to which telemetry was read. It remains known after Free.
  int64_t newest_ns() const { return newest_ns_; }

  // Collects the unsaved boots and schemas for a transaction. MarkSaved marks them as saved.
  bool dirty() const { return sources_.dirty() || schemas_.dirty(); }
  void Collect(const std::string& job, store::DatabaseChange* change) const;
  void MarkSaved();

  // Sets the fields that are derived from telemetry and events.
  void Fill(const JobEventFold& story, JobOverview* life) const;
  // Frees the data that an unloaded job does not keep in memory.
  void Free();

 private:
  // The batch being ingested and the windows that accept it.
  struct Reading {
    const Batch& batch;
    const RecordPlace& at;
    SourceState* source;
    IngestCounts* counts;
    BatchAdmission admission;
  };

  void AddFrame(const Frame& whole, Reading* reading);
  // Adds the frame's rows to the heads that `head_of` returns for their windows. Skips windows for
  // which it returns nullptr.
  template <typename HeadOf>
  void AddRows(const SharedSchema& schema, const Frame& frame, const OriginPtr& origin,
               uint64_t sequence, const HeadOf& head_of, IngestCounts* counts);
  void AddWaiting(const Frame& frame, Reading* reading);
  void Release(const SharedSchema& schema, IngestCounts* counts);
  void AddSpans(Reading* reading);
  void AddHeartbeat(Reading* reading);

  JobSources sources_;
  JobSchemas schemas_;
  DerivedRows derived_;
  JobWindows windows_;
  WaitingFrames waiting_;
  int64_t newest_ns_ = INT64_MIN;
};

}  // namespace pitwall::history
