#include "services/engine/clocks/step_evaluation.h"

#include <algorithm>

namespace pitwall::engine {

void StepEvaluation::EvaluateTo(ClockDomain* domain, int64_t to, int64_t at, EventSink* out) {
  if (to <= domain->watermark) return;
  // A first promise may cover many steps: each that was logged is judged.
  domain->StartAt(std::min(to, domain->store()->OldestOpen().value_or(to)));
  if (domain->is_shared()) rules_->baselines().WriteSteps(domain, to);
  domain->watermark = to;
  domain->SkipQuiet(to);
  for (int64_t tick = domain->NextTick(); tick <= to; tick = domain->NextTick()) {
    const int64_t step = tick / kStepUnit;
    const int64_t seen = domain->step_times().At(step);
    if (domain->is_shared()) rules_->baselines().WriteAtTick(domain, tick);
    rules_->issues().Evaluate(domain,
                              {.position = tick,
                               .time_ns = seen != 0 ? seen : at,
                               .step = step,
                               .attempt = attempt_->number()},
                              out);
    domain->SkipQuiet(to);
  }
}

void StepEvaluation::Finish(ClockDomain* domain, int64_t at, EventSink* out) {
  const int64_t newest = domain->step_times().Newest();
  if (newest != kNoStep) EvaluateTo(domain, StepPosition(newest), at, out);
}

void StepEvaluation::FinishAll(int64_t at, EventSink* out) {
  for (const auto& domain : rules_->domains().steps()) Finish(domain.get(), at, out);
}

}  // namespace pitwall::engine
