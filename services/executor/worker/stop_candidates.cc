#include "services/executor/worker/stop_candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "services/base/text/strings.h"
#include "services/executor/policy.h"
#include "services/executor/stop_requests.h"

namespace pitwall::executor {
namespace {

ActionEvent MakeAction(const IssueEvent& event, ActionEventType type, ActionMode mode,
                       std::string why) {
  ActionEvent action;
  action.type = type;
  action.issue = IssueId(event);
  action.issue_event = event.id;
  action.job = event.job;
  action.job_name = event.job_name;
  action.owner = event.owner;
  action.attempt = event.attempt;
  action.rule = event.rule;
  action.alert = event.alert;
  action.severity = event.severity;
  action.mode = mode;
  action.target = event.reference;
  action.why = std::move(why);
  if (event.rule == kStopRequestRule) action.principal = std::string(event.labels.Get("principal"));
  action.evidence = event.evidence;
  action.time = event.time;
  action.id = MakeActionId(action);
  return action;
}

}  // namespace

void StopCandidates::Consider(IssueEvent event) {
  const std::string issue = IssueId(event);
  const Verdict verdict = Judge(options_.policies, event);
  // Every stop request from a user gets a reply.
  if (verdict.mode == PolicyMode::kOff && event.rule != kStopRequestRule) return;
  if (targets_->Choose(event.reference).elsewhere) {
    issues_.erase(issue);
    counters_->elsewhere.Add();
    return;
  }
  const ActionMode mode =
      verdict.mode == PolicyMode::kLive ? ActionMode::kLive : ActionMode::kDryRun;
  if (index_->Decided(issue, mode)) return;
  issues_.insert_or_assign(issue, std::move(event));
}

void StopCandidates::Remove(std::string_view issue) {
  if (const auto it = issues_.find(issue); it != issues_.end()) issues_.erase(it);
}

std::optional<StopDecision> StopCandidates::DecideOn(const IssueEvent& event) {
  const std::string issue = IssueId(event);
  const Verdict verdict = Judge(options_.policies, event);
  const bool live = verdict.mode == PolicyMode::kLive;
  const ActionMode mode = live ? ActionMode::kLive : ActionMode::kDryRun;
  if (index_->Decided(issue, mode)) return std::nullopt;
  StopDecision decision;
  decision.action = MakeAction(event, ActionEventType::kDecided, mode, "");
  decision.target = targets_->Choose(event.reference).target;
  decision.grace_ns = verdict.grace_ns;
  StopCheck check;
  check.refusal = Exemption(options_.exempt, event);
  if (check.refusal.empty()) {
    check = decision.target != nullptr ? decision.target->Check(decision.action)
                                       : StopCheck{.refusal = targets_->Refusal(event.reference)};
  }
  if (check.other_owner) counters_->refused_owner.Add();
  if (std::max(event.started_at, event.active_since).ns() <= decisions_->floor_ns()) {
    check.refusal =
        "the issue began before the decisions were lost (--accept-log-reset), so it may already "
        "have been acted on";
  }
  if (verdict.mode == PolicyMode::kOff) check.refusal = "the policy is off";
  if (check.refusal.empty() && live)
    check.refusal = index_->Reserve(issue, event.job, event.time.ns());
  if (!check.refusal.empty()) {
    if (index_->Refused(issue, mode)) return std::nullopt;  // refuse each issue only once
    decision.action = MakeAction(event, ActionEventType::kRefused, mode,
                                 Cat(verdict.why, "; refused: ", check.refusal));
    return decision;
  }
  const bool asked_for = event.rule == kStopRequestRule;
  decision.action.why =
      Cat(verdict.why, asked_for ? "; " : "; the issue is open and ", check.found);
  return decision;
}

StatusOr<std::vector<StopDecision>> StopCandidates::Decide() {
  std::set<std::string> jobs;
  for (const auto& [issue, event] : issues_) jobs.insert(event.job);
  RETURN_IF_ERROR(decisions_->ReadOf(jobs));  // also reads decisions by executors of other nodes
  // Decide in order of event time. The order affects which stops the budget allows, so it must not
  // depend on hashing.
  std::vector<const IssueEvent*> order;
  for (const auto& [issue, event] : issues_) order.push_back(&event);
  std::sort(order.begin(), order.end(), [](const IssueEvent* a, const IssueEvent* b) {
    return std::pair(a->time, std::string_view(a->id)) <
           std::pair(b->time, std::string_view(b->id));
  });
  std::vector<StopDecision> decisions;
  for (const IssueEvent* event : order) {
    if (std::optional<StopDecision> decision = DecideOn(*event); decision.has_value())
      decisions.push_back(*std::move(decision));
  }
  return decisions;
}

}  // namespace pitwall::executor
