// All of a job's input that waits for the watermark, and the sources of that input.
#pragma once

#include "services/engine/sources/event_schedule.h"
#include "services/engine/sources/frame_queue.h"
#include "services/engine/sources/source_table.h"

namespace pitwall::engine {

// A single PendingBytes counts all of the input. Not thread-safe.
class JobInput {
 public:
  // The pointers are borrowed.
  JobInput(const EngineOptions& options, const JobClock* clock, LimitReport* limits,
           EngineCounters* counters)
      : sources_(options, limits),
        frames_(options, clock, sources_.pending(), limits, counters),
        schedule_(clock, sources_.pending(), limits) {}

  SourceTable& sources() { return sources_; }
  const SourceTable& sources() const { return sources_; }
  FrameQueue& frames() { return frames_; }
  EventSchedule& schedule() { return schedule_; }

  void Clear() {
    schedule_.Clear();
    sources_.Clear();
  }
  void Save(BinaryWriter& out) const {
    sources_.Save(out);
    schedule_.Save(out);
  }
  // `format` is the snapshot's format (shard.h).
  Status Restore(BinaryReader& in, uint32_t format) {
    RETURN_IF_ERROR(sources_.Restore(in, format));
    return schedule_.Restore(in);
  }

 private:
  SourceTable sources_;
  FrameQueue frames_;
  EventSchedule schedule_;
};

}  // namespace pitwall::engine
