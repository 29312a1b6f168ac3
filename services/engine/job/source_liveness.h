// Set of a job's sources that hold back its watermark. A source belongs to the set if it sends
// promises and is neither idle nor far behind the others (time-model.md 2.2 and 2.3).
#pragma once

#include <cstdint>
#include <string_view>

#include "services/engine/clocks/engine_series.h"
#include "services/engine/sources/job_input.h"

namespace pitwall::engine {

// Not thread-safe.
class SourceLiveness {
 public:
  // The pointers are borrowed.
  SourceLiveness(const EngineOptions& options, JobInput* input, EngineSeries* series)
      : options_(options),
        sources_(&input->sources()),
        frames_(&input->frames()),
        schedule_(&input->schedule()),
        series_(series) {}

  // Records a batch of the source. `goodbye` marks the source's last batch. Returns the minimum
  // promise of all sources, or EventTime::Earliest() if there are no sources. A source that sends a
  // goodbye is counted one last time.
  EventTime OnBatch(Source* source, bool goodbye);
  // Handles a clock tick. Sources that were silent or behind the others for too long no longer hold
  // back the watermark.
  void OnTick(Duration elapsed, EventSink* out);
  // Sets or clears a flag in the series pitwall_source_flagged{source,reason}, which rules can
  // read.
  void Flag(const Source& source, std::string_view reason, bool on) {
    series_->Flag(source.id, source.info.node, reason, on);
  }

 private:
  // Ends the source's series 1 ns after its newest promise or sample. `kind` is kLeave or kGoodbye.
  void Leave(Source* source, TimelineEvent::Kind kind);

  const EngineOptions& options_;
  SourceTable* const sources_;
  FrameQueue* const frames_;
  EventSchedule* const schedule_;
  EngineSeries* const series_;
};

}  // namespace pitwall::engine
