// Rows of a job's sources that cannot be applied yet: until the watermark passes them, or until the
// schema of their frame has come. The only place where frames and schemas come and go, so that
// their bytes stay counted.
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

// What changes a source here, changes the promise that counts: call it within SourceTable::Change.
// Not thread-safe.
class FrameQueue {
 public:
  // All are borrowed.
  FrameQueue(const EngineOptions& options, const JobClock* clock, PendingBytes* memory,
             LimitReport* limits, EngineCounters* counters);

  // Adds the schemas of a batch, and releases the frames that waited for them.
  void AddSchemas(const std::vector<SharedSchema>& schemas, Source* source);
  // Adds a frame: one without a known schema waits for it. Left out and counted when the job holds
  // too much.
  void Add(PendingFrame frame, Source* source);
  // A tick: gives up frames that have waited for their schema for too long, as dead letters.
  void DropWaiting(int64_t elapsed_ns, Source* source, EventSink* out);
  // Removes frames whose rows were all taken.
  void RemoveTaken(Source* source);
  // Takes the rows up to `to`, in the order in which they apply: (time, source, boot, sequence,
  // index, row). They stay valid until RemoveTaken.
  static std::vector<RowRef> TakeRows(const std::vector<Source*>& sources, int64_t to);

 private:
  void Release(Source* source);

  const EngineOptions& options_;
  const JobClock* const clock_;
  PendingBytes* const memory_;
  LimitReport* const limits_;
  EngineCounters* const counters_;
};

}  // namespace pitwall::engine
