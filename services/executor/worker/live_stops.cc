#include "services/executor/worker/executed_stops.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::executor {

void ExecutedStops::Execute(const StopDecision& decision) {
  StatusOr<std::string> done = decision.target->Stop(decision.action);
  if (done.ok()) {
    const int64_t now = clock_->MonotonicNs();
    watched_.push_back({decision.action, decision.target, *std::move(done), now + decision.grace_ns,
                        decision.grace_ns, now});
  } else if (done.status().code() == absl::StatusCode::kNotFound) {
    outcomes_->Finish(decision.action,
                      Cat("not found, so nothing was stopped: ", ToStd(done.status().message())));
  } else if (done.status().code() == absl::StatusCode::kPermissionDenied) {
    outcomes_->Refuse(decision.action, ToStd(done.status().message()));
  } else {
    outcomes_->Finish(decision.action, Cat("failed: ", ToStd(done.status().message())));
  }
}

void ExecutedStops::CheckEffects() {
  std::erase_if(watched_, [&](Watched& w) {
    const int64_t now = clock_->MonotonicNs();
    if (now < w.look_at_ns && now < w.until_ns) return false;
    w.look_at_ns = now + w.target->look_interval_ns();
    const StatusOr<StopEffect> effect = w.target->Effect(w.decision);
    if (effect.ok() && effect->stopped) {
      outcomes_->Finish(w.decision, Cat(w.done, "; ", effect->text), /*stopped=*/true);
      return true;
    }
    if (now < w.until_ns) return false;
    const std::string seen =
        effect.ok() ? effect->text
                    : Cat("the effect is unknown (", ToStd(effect.status().message()), ")");
    outcomes_->Finish(w.decision,
                      Cat(w.done, "; ", seen, " after ", w.grace_ns / kNanosPerMilli, " ms"));
    return true;
  });
}

void ExecutedStops::Abandon() {
  for (const Watched& w : watched_) {
    outcomes_->Finish(w.decision,
                      Cat(w.done, "; the executor stopped before it observed an effect"));
  }
  watched_.clear();
}

}  // namespace pitwall::executor
