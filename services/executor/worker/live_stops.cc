#include "services/executor/worker/live_stops.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::executor {

template <typename Finish>
void LiveStops::ForEach(StopState state, Finish finish) {
  for (auto at = stops_.begin(); at != stops_.end();) {
    const bool finished = at->second.state == state && finish(&at->second);
    at = finished ? stops_.erase(at) : std::next(at);
  }
}

void LiveStops::OnCommitted(const std::vector<StopDecision>& stops) {
  for (const StopDecision& decision : stops) {
    Stop stop{.state = StopState::kCommitted, .decision = decision};
    if (Execute(&stop)) stops_.insert_or_assign(decision.action.issue, std::move(stop));
  }
}

void LiveStops::OnUnconfirmed(const std::vector<StopDecision>& stops) {
  for (const StopDecision& decision : stops)
    stops_.insert_or_assign(decision.action.issue, Stop{StopState::kUnconfirmed, decision});
}

void LiveStops::OnFailed(const std::vector<StopDecision>& stops) {
  for (const StopDecision& decision : stops) index_->Release(decision.action.issue);
}

void LiveStops::Confirm(bool ours) {
  ForEach(StopState::kUnconfirmed, [&](Stop* stop) {
    const std::string& issue = stop->decision.action.issue;
    if (!index_->Decided(issue, ActionMode::kLive)) {
      index_->Release(issue);
      return true;
    }
    stop->state = StopState::kCommitted;
    return !ours;
  });
}

void LiveStops::ExecuteCommitted() {
  ForEach(StopState::kCommitted, [&](Stop* stop) { return !Execute(stop); });
}

void LiveStops::Cancel(std::string_view issue, std::string_view reason) {
  const auto stop = stops_.find(issue);
  if (stop == stops_.end() || stop->second.state != StopState::kCommitted) return;
  outcomes_->Finish(stop->second.decision.action, std::string(reason));
  stops_.erase(stop);
}

void LiveStops::CancelAll(std::string_view reason) {
  ForEach(StopState::kCommitted, [&](Stop* stop) {
    outcomes_->Finish(stop->decision.action, std::string(reason));
    return true;
  });
}

bool LiveStops::Execute(Stop* stop) {
  const ActionEvent& action = stop->decision.action;
  StatusOr<std::string> done = stop->decision.target->Stop(action);
  if (done.ok()) {
    stop->state = StopState::kExecuted;
    stop->done = *std::move(done);
    stop->look_at_ns = clock_->MonotonicNs();
    stop->until_ns = stop->look_at_ns + stop->decision.grace_ns;
    return true;
  }
  const std::string_view message = ToStd(done.status().message());
  if (absl::IsPermissionDenied(done.status())) {
    outcomes_->Refuse(action, message);
  } else if (absl::IsNotFound(done.status())) {
    outcomes_->Finish(action, Cat("not found, so nothing was stopped: ", message));
  } else {
    outcomes_->Finish(action, Cat("failed: ", message));
  }
  return false;
}

void LiveStops::CheckEffects() {
  ForEach(StopState::kExecuted, [&](Stop* stop) { return CheckEffect(stop); });
}

bool LiveStops::CheckEffect(Stop* stop) {
  const int64_t now = clock_->MonotonicNs();
  if (now < stop->look_at_ns && now < stop->until_ns) return false;
  const ActionEvent& action = stop->decision.action;
  StopTarget* const target = stop->decision.target;
  stop->look_at_ns = now + target->look_interval_ns();
  const StatusOr<StopEffect> effect = target->Effect(action);
  if (effect.ok() && effect->stopped) {
    outcomes_->Finish(action, Cat(stop->done, "; ", effect->text), /*stopped=*/true);
    return true;
  }
  if (now < stop->until_ns) return false;
  const std::string seen =
      effect.ok() ? effect->text
                  : Cat("the effect is unknown (", ToStd(effect.status().message()), ")");
  outcomes_->Finish(action, Cat(stop->done, "; ", seen, " after ",
                                stop->decision.grace_ns / kNanosPerMilli, " ms"));
  return true;
}

void LiveStops::Abandon() {
  ForEach(StopState::kExecuted, [&](Stop* stop) {
    outcomes_->Finish(stop->decision.action,
                      Cat(stop->done, "; the executor stopped before it observed an effect"));
    return true;
  });
}

std::optional<StopState> LiveStops::StateOf(std::string_view issue) const {
  const auto stop = stops_.find(issue);
  if (stop == stops_.end()) return std::nullopt;
  return stop->second.state;
}

bool LiveStops::Has(StopState state) const {
  return std::any_of(stops_.begin(), stops_.end(),
                     [&](const auto& entry) { return entry.second.state == state; });
}

}  // namespace pitwall::executor
