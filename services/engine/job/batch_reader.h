// Reads batches into a job: rows, promises, and events wait there until the watermark passes them
// (time-model.md, section 2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/engine/job/source_liveness.h"
#include "services/engine/sources/job_input.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

struct RecordPosition {
  int64_t offset = 0;
  int64_t append_time_ns = 0;
};

// Counts what it refuses. Not thread-safe.
class BatchReader {
 public:
  // All are borrowed.
  BatchReader(const EngineOptions& options, EngineCounters* counters, const JobClock* clock,
              JobInput* input, EngineSeries* series);

  // Reads the batch. `raw` is the record's value: it is dead-lettered when it is malformed, or when
  // its schema never comes. Returns its source, for SourceLiveness::OnBatch; null: the batch was
  // refused.
  Source* Read(const RecordPosition& at, const Batch& batch, std::string_view raw, EventSink* out);
  SourceLiveness& liveness() { return liveness_; }

 private:
  Source* FindOrAddSource(const Batch& batch);
  void ReadFrames(const RecordPosition& at, const Batch& batch, std::string_view raw,
                  Source* source, EventSink* out);
  // Why the frame does not fit its schema or has an invalid step; "": it is valid.
  static std::string ProblemOf(const Frame& frame, const Source& source);
  // Copies the rows that are neither late nor ahead. True: some are ahead.
  bool CopyRows(const Frame& frame, int64_t latest, PendingFrame* pending);
  // False: the promise is refused, since the source's clock runs ahead.
  bool ReadPromise(const RecordPosition& at, const Batch& batch, Source* source);
  void ReadForeignPromise(const RecordPosition& at, const Batch& batch, Source* source);
  // Reads the steps and job events of a batch. `believed`: as of ReadPromise.
  void ReadEvents(const RecordPosition& at, const Batch& batch, bool believed, Source* source);
  void ReadSteps(const Batch& batch, int64_t stamp, bool believed, uint32_t* index, Source* source);
  void ReadEvent(const JobEvent& event, const Batch& batch, int64_t position, uint32_t* index,
                 Source* source);
  // Greatest time that counts for a record: later ones are of a clock that runs ahead.
  int64_t Latest(const RecordPosition& at) const;

  const EngineOptions& options_;
  EngineCounters* const counters_;
  const JobClock* const clock_;
  SourceTable* const sources_;
  FrameQueue* const frames_;
  EventSchedule* const schedule_;
  SourceLiveness liveness_;
};

}  // namespace pitwall::engine
