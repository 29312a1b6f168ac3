#include "services/engine/clocks/step_evaluation.h"

#include <algorithm>

namespace pitwall::engine {

void StepEvaluation::EvaluateTo(ClockDomain* domain, Position to, EventTime at, EventSink* out) {
  if (to <= domain->ticks().watermark()) return;
  // A first promise may cover many steps. The engine evaluates each logged step.
  domain->ticks().StartAt(std::min(to, domain->store()->OldestOpen().value_or(to)));
  if (domain->id().is_shared()) rules_->baselines().WriteSteps(domain, to);
  domain->ticks().SetWatermark(to);
  domain->ticks().SkipQuiet(to);
  for (Position tick = domain->ticks().NextTick(); tick <= to; tick = domain->ticks().NextTick()) {
    const Step step = StepOf(tick);
    const EventTime seen = domain->pace().times.At(step);
    if (domain->id().is_shared()) rules_->baselines().WriteAtTick(domain, tick);
    rules_->issues().Evaluate(domain,
                              {.position = tick,
                               .time = seen != EventTime() ? seen : at,
                               .step = step,
                               .attempt = attempt_->number()},
                              out);
    domain->ticks().SkipQuiet(to);
  }
}

void StepEvaluation::Finish(ClockDomain* domain, EventTime at, EventSink* out) {
  const Step newest = domain->pace().times.Newest();
  if (newest != Step::None()) EvaluateTo(domain, PositionOf(newest), at, out);
}

void StepEvaluation::FinishAll(EventTime at, EventSink* out) {
  for (const auto& domain : rules_->domains().steps()) Finish(domain.get(), at, out);
}

}  // namespace pitwall::engine
