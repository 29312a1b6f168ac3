// Rows from a job's sources that cannot be applied yet because the watermark has not passed them or
// their frame's schema has not arrived. Frames and schemas are added and removed only through this
// class, so that their bytes are counted.
#pragma once

#include <cstdint>
#include <vector>

#include "services/engine/program/counters.h"
#include "services/engine/program/event_sink.h"
#include "services/engine/program/limit_report.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/job_clock.h"
#include "services/engine/sources/pending_bytes.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Functions that change a source also change its effective promise, so they must be called within
// SourceTable::Change. Not thread-safe.
class FrameQueue {
 public:
  // The pointers are borrowed.
  FrameQueue(const EngineOptions& options, const JobClock* clock, PendingBytes* memory,
             LimitReport* limits, EngineCounters* counters);

  // Adds the schemas of a batch and releases the frames that waited for them.
  void AddSchemas(const std::vector<SharedSchema>& schemas, Source* source);
  // Adds a frame. A frame with an unknown schema waits for the schema. If the job holds too much
  // data, the frame is dropped and counted.
  void Add(PendingFrame frame, Source* source);
  // Handles a tick: dead-letters frames that have waited too long for their schema.
  void DropWaiting(Duration elapsed, Source* source, EventSink* out);
  // Removes frames whose rows have all been taken.
  void RemoveTaken(Source* source);
  // Takes the rows up to `to` in the order in which they must be applied: (time, source, boot,
  // sequence, index, row). The rows stay valid until RemoveTaken.
  static std::vector<RowRef> TakeRows(const std::vector<Source*>& sources, EventTime to);

 private:
  void Release(Source* source);

  const EngineOptions& options_;
  const JobClock* const clock_;
  PendingBytes* const memory_;
  LimitReport* const limits_;
  EngineCounters* const counters_;
};

}  // namespace pitwall::engine
