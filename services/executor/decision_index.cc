#include "services/executor/decision_index.h"

#include <algorithm>

namespace pitwall::executor {

ActionEvent OutcomeOf(const ActionEvent& decision, ActionEventType type) {
  ActionEvent outcome = decision;
  outcome.type = ActionEventType::kDone;
  outcome.id = MakeActionId(outcome);
  outcome.type = type;
  return outcome;
}

bool IsOutcome(const ActionEvent& event) { return event.id == OutcomeOf(event, event.type).id; }

DecisionIndex::State& DecisionIndex::Touch(const std::string& issue) {
  const auto [at, inserted] = issues_.try_emplace(issue);
  if (!inserted) return at->second;
  order_.push_back(issue);
  while (order_.size() > std::max<size_t>(1, limits_.max_decisions)) {
    issues_.erase(order_.front());
    order_.pop_front();
  }
  return issues_.find(issue)->second;
}

void DecisionIndex::Count(const std::string& issue, const std::string& job, int64_t time_ns) {
  for (const Live& live : live_) {
    if (live.issue == issue) return;
  }
  live_.push_back({issue, job, time_ns});
  // Older decisions beyond this limit affect neither the budget nor the cool-down.
  if (live_.size() > std::max<size_t>(1024, static_cast<size_t>(limits_.budget) * 2))
    live_.pop_front();
}

void DecisionIndex::Record(const ActionEvent& event) {
  if (event.type == ActionEventType::kRequested) return;  // requests are not decisions
  if (event.kind != ActionKind::kStop) return;            // executors decide only stops
  MutexLock lock(&mutex_);
  State& state = Touch(event.issue);
  const bool live = event.mode == ActionMode::kLive;
  switch (event.type) {
    case ActionEventType::kDecided:
      (live ? state.live_decided : state.dry_decided) = true;
      if (live) {
        state.decision = event;
        Count(event.issue, event.job, event.time.ns());
      }
      break;
    case ActionEventType::kRefused:
      (live ? state.live_refused : state.dry_refused) = true;
      if (live && IsOutcome(event)) state.live_done = state.live_decided = true;
      break;
    case ActionEventType::kDone:
      if (live) state.live_done = state.live_decided = true;
      break;
    case ActionEventType::kRequested:
      break;
  }
}

bool DecisionIndex::Decided(std::string_view issue, ActionMode mode) const {
  MutexLock lock(&mutex_);
  const auto at = issues_.find(issue);
  if (at == issues_.end()) return false;
  return at->second.live_decided || (mode == ActionMode::kDryRun && at->second.dry_decided);
}

bool DecisionIndex::Refused(std::string_view issue, ActionMode mode) const {
  MutexLock lock(&mutex_);
  const auto at = issues_.find(issue);
  if (at == issues_.end()) return false;
  return mode == ActionMode::kLive ? at->second.live_refused : at->second.dry_refused;
}

bool DecisionIndex::Done(std::string_view issue) const {
  MutexLock lock(&mutex_);
  const auto at = issues_.find(issue);
  return at != issues_.end() && at->second.live_done;
}

std::string DecisionIndex::Reserve(std::string_view issue, std::string_view job, int64_t time_ns) {
  MutexLock lock(&mutex_);
  int in_window = 0;
  for (const Live& live : live_) {
    // Event times differ between jobs, so decisions with a later event time also count.
    if (time_ns - live.time_ns < limits_.window_ns) ++in_window;
    if (live.job == job && time_ns - live.time_ns < limits_.cool_down_ns) {
      return Cat("cool-down: job ", job, " was acted on less than ",
                 limits_.cool_down_ns / 1'000'000'000, " s ago");
    }
  }
  if (in_window >= limits_.budget) {
    return Cat("budget: ", in_window, " live actions in ", limits_.window_ns / 1'000'000'000,
               " s (limit ", limits_.budget, ")");
  }
  Count(std::string(issue), std::string(job), time_ns);
  return "";
}

void DecisionIndex::Release(std::string_view issue) {
  MutexLock lock(&mutex_);
  std::erase_if(live_, [issue](const Live& live) { return live.issue == issue; });
}

std::vector<ActionEvent> DecisionIndex::Unfinished() const {
  std::vector<ActionEvent> out;
  MutexLock lock(&mutex_);
  for (const std::string& issue : order_) {
    const auto at = issues_.find(issue);
    if (at != issues_.end() && at->second.live_decided && !at->second.live_done &&
        !at->second.decision.issue.empty()) {
      out.push_back(at->second.decision);
    }
  }
  return out;
}

size_t DecisionIndex::size() const {
  MutexLock lock(&mutex_);
  return issues_.size();
}

}  // namespace pitwall::executor
