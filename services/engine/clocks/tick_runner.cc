#include "services/engine/clocks/tick_runner.h"

#include <algorithm>

namespace pitwall::engine {

EventTime TickRunner::NextTick() const {
  const ClockDomain* time = rules_->domains().time();
  return time != nullptr ? EventTimeOf(time->ticks().NextTick()) : EventTime::Latest();
}

void TickRunner::RunBelow(EventTime end, EventSink* out) {
  for (;;) {
    const EventTime tick = NextTick();
    const EventTime judgement = clock_->next_step_judgement();
    const EventTime next = std::min(tick, judgement);
    if (next >= end) return;
    const ClockDomain* time = rules_->domains().time();
    if (clock_->IsQuiet(next, end,
                        time != nullptr ? time->ticks().quiet_horizon() : Duration::Zero())) {
      if (!SkipQuiet(end)) return;
    } else if (tick <= judgement) {
      Evaluate(tick, out);
    } else {
      steps_->JudgeNeeds(judgement, *job_, out);
      clock_->FinishStepJudgement();
    }
  }
}

// After a long silence, skips ticks that would all have the same result. An hour of silence, or a
// clock that was an hour behind, must not cost an hour of evaluations.
bool TickRunner::SkipQuiet(EventTime end) {
  if (ClockDomain* time = rules_->domains().time(); time != nullptr)
    time->ticks().SkipTo(PositionOf(end.Previous()));
  clock_->SkipStepJudgements(end);
  if (std::min(NextTick(), clock_->next_step_judgement()) >= end) return false;
  clock_->NoteActivity(end.Previous());
  return true;
}

void TickRunner::Evaluate(EventTime tick, EventSink* out) {
  rules_->series().WriteFailures(tick, attempt_->ranks().failures().Judge(tick));
  rules_->series().Repeat(tick);
  rules_->issues().Evaluate(rules_->domains().time(), attempt_->ContextAt(tick), out);
}

}  // namespace pitwall::engine
