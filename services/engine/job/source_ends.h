// Handling of source ends, in event-time order.
#pragma once

#include <cstdint>

#include "services/engine/clocks/row_writer.h"
#include "services/engine/clocks/step_input.h"
#include "services/engine/lifecycle/job_attempt.h"
#include "services/engine/sources/source_table.h"

namespace pitwall::engine {

// Not thread-safe.
class SourceEnds {
 public:
  // The pointers are borrowed.
  SourceEnds(SourceTable* sources, RowWriter* writer, StepInput* steps, JobAttempt* attempt)
      : sources_(sources), writer_(writer), steps_(steps), attempt_(attempt) {}

  // Ends the source's boot or attempt, and its series, at `at`. Later samples are dropped as
  // zombies.
  void End(Source* source, EventTime at) {
    CountLeft(source);
    writer_->MarkStale(*source, at);
    sources_->End(source, at);
  }
  // Ends the series of a source that is not expected to promise or log further data. Step clocks no
  // longer wait for it. `goodbye` means that its process has exited normally.
  void Leave(Source* source, bool goodbye, EventTime at, EventSink* out) {
    writer_->MarkStale(*source, at);
    sources_->ChangeSteps(source, [](Source* s) { s->step_live = false; });
    steps_->AdvanceWithout(*source, goodbye, at, out);
    if (goodbye) CountLeft(source);
  }
  // Records that a rank's process is no longer running.
  void CountLeft(Source* source) {
    if (attempt_->ranks().Leave(source)) steps_->OnRankLeft(*source);
  }

 private:
  SourceTable* const sources_;
  RowWriter* const writer_;
  StepInput* const steps_;
  JobAttempt* const attempt_;
};

}  // namespace pitwall::engine
