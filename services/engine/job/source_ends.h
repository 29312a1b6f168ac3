// Ends of sources in order of event time.
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
  // All are borrowed.
  SourceEnds(SourceTable* sources, RowWriter* writer, StepInput* steps, JobAttempt* attempt)
      : sources_(sources), writer_(writer), steps_(steps), attempt_(attempt) {}

  // Its boot or attempt has ended at `at`, with its series: later samples are a zombie's.
  void End(Source* source, int64_t at) {
    CountLeft(source);
    writer_->MarkStale(*source, at);
    sources_->End(source, at);
  }
  // It promises and logs nothing more, as far as is known: its series end, and no step clock waits
  // for it. `goodbye`: its process has ended in order.
  void Leave(Source* source, bool goodbye, int64_t at, EventSink* out) {
    writer_->MarkStale(*source, at);
    sources_->ChangeSteps(source, [](Source* s) { s->step_live = false; });
    steps_->AdvanceWithout(*source, goodbye, at, out);
    if (goodbye) CountLeft(source);
  }
  // The process of a rank does not run any more.
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
