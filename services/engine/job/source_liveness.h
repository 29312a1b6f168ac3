// Sources of a job that hold its watermark: those that promise and are neither idle nor behind the
// others (time-model.md 2.2 and 2.3).
#pragma once

#include <cstdint>
#include <string_view>

#include "services/engine/clocks/engine_series.h"
#include "services/engine/sources/job_input.h"

namespace pitwall::engine {

// Not thread-safe.
class SourceLiveness {
 public:
  // All are borrowed.
  SourceLiveness(const EngineOptions& options, JobInput* input, EngineSeries* series)
      : options_(options),
        sources_(&input->sources()),
        frames_(&input->frames()),
        schedule_(&input->schedule()),
        series_(series) {}

  // A batch of the source was read; `goodbye`: it is its last one. Returns the minimum of the
  // promises of all sources, to which this one belongs a last time: kMinPosition without any.
  int64_t OnBatch(Source* source, bool goodbye);
  // A clock tick: sources that were silent, or trail the others, for too long leave the watermark.
  void OnTick(int64_t elapsed_ns, EventSink* out);
  // A series that rules can read: pitwall_source_flagged{source,reason}.
  void Flag(const Source& source, std::string_view reason, bool on) {
    series_->Flag(source.id, source.info.node, reason, on);
  }

 private:
  // Its series end 1 ns after its newest promise or sample. `kind`: kLeave or kGoodbye.
  void Leave(Source* source, TimelineEvent::Kind kind);

  const EngineOptions& options_;
  SourceTable* const sources_;
  FrameQueue* const frames_;
  EventSchedule* const schedule_;
  EngineSeries* const series_;
};

}  // namespace pitwall::engine
