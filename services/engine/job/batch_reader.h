// Reader that adds batches to a job. Rows, promises, and events wait in the job until the watermark
// passes them (time-model.md, section 2).
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
  LogOffset offset;
  AppendTime append_time;
};

// Counts the data that it rejects. Not thread-safe.
class BatchReader {
 public:
  // The pointers are borrowed.
  BatchReader(const EngineOptions& options, EngineCounters* counters, const JobClock* clock,
              JobInput* input, EngineSeries* series);

  // Reads the batch. `raw` is the record's value. It is dead-lettered if it is malformed or its
  // schema never arrives. Returns the source of the batch for SourceLiveness::OnBatch, or null if
  // the batch was rejected.
  Source* Read(const RecordPosition& at, const Batch& batch, std::string_view raw, EventSink* out);
  SourceLiveness& liveness() { return liveness_; }

 private:
  Source* FindOrAddSource(const Batch& batch);
  void ReadFrames(const RecordPosition& at, const Batch& batch, std::string_view raw,
                  Source* source, EventSink* out);
  // Returns the reason why the frame is invalid, or "" if the frame is valid. An invalid frame does
  // not match its schema or has an invalid step.
  static std::string ProblemOf(const Frame& frame, const Source& source);
  // Copies rows that are neither late nor after `latest`. Returns true if any row is after
  // `latest`.
  bool CopyRows(const Frame& frame, EventTime latest, PendingFrame* pending);
  // Returns false if the promise is rejected because the source's clock runs ahead.
  bool ReadPromise(const RecordPosition& at, const Batch& batch, Source* source);
  void ReadForeignPromise(const RecordPosition& at, const Batch& batch, Source* source);
  // Reads the steps and job events in a batch. `believed` is the result of ReadPromise.
  void ReadEvents(const RecordPosition& at, const Batch& batch, bool believed, Source* source);
  void ReadSteps(const Batch& batch, EventTime stamp, bool believed, uint32_t* index,
                 Source* source);
  void ReadEvent(const JobEvent& event, const Batch& batch, EventTime time, uint32_t* index,
                 Source* source);
  // Returns the maximum valid event time in a record. Later times come from a clock that runs
  // ahead.
  EventTime Latest(const RecordPosition& at) const;

  const EngineOptions& options_;
  EngineCounters* const counters_;
  const JobClock* const clock_;
  SourceTable* const sources_;
  FrameQueue* const frames_;
  EventSchedule* const schedule_;
  SourceLiveness liveness_;
};

}  // namespace pitwall::engine
