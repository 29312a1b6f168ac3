#include "services/engine/clocks/tick_runner.h"

#include <algorithm>

namespace pitwall::engine {

int64_t TickRunner::NextTick() const {
  const ClockDomain* time = rules_->domains().time();
  return time != nullptr ? time->ticks().NextTick() : kMaxPosition;
}

void TickRunner::RunBelow(int64_t position, EventSink* out) {
  for (;;) {
    const int64_t tick = NextTick();
    const int64_t judgement = clock_->next_step_judgement();
    const int64_t next = std::min(tick, judgement);
    if (next >= position) return;
    const ClockDomain* time = rules_->domains().time();
    if (clock_->IsQuiet(next, position, time != nullptr ? time->ticks().quiet_horizon() : 0)) {
      if (!SkipQuiet(position)) return;
    } else if (tick <= judgement) {
      Evaluate(tick, out);
    } else {
      steps_->JudgeNeeds(judgement, *job_, out);
      clock_->FinishStepJudgement();
    }
  }
}

// Skips ticks that would all have the same result after a long silence. Neither a long silence nor
// a clock that was an hour behind may cost an hour of evaluations.
bool TickRunner::SkipQuiet(int64_t position) {
  if (ClockDomain* time = rules_->domains().time(); time != nullptr)
    time->ticks().SkipTo(position - 1);
  clock_->SkipStepJudgements(position);
  if (std::min(NextTick(), clock_->next_step_judgement()) >= position) return false;
  clock_->NoteActivity(position - 1);
  return true;
}

void TickRunner::Evaluate(int64_t tick, EventSink* out) {
  rules_->series().WriteFailures(tick, attempt_->ranks().failures().Judge(tick));
  rules_->series().Repeat(tick);
  rules_->issues().Evaluate(rules_->domains().time(), attempt_->ContextAt(tick), out);
}

}  // namespace pitwall::engine
