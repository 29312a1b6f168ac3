#include "services/engine/clocks/job_issues.h"

#include <optional>
#include <span>
#include <string>

#include "services/engine/sources/rank_nodes.h"

namespace pitwall::engine {

void JobIssues::ReplaceRules(const EvalTime& at, int64_t origin, EventSink* out) {
  const size_t first = out->events.size();
  domains_->Replace(at, origin, out);
  incidents_.SetProgram(domains_->program());
  Join(first, out);
}

void JobIssues::Evaluate(ClockDomain* domain, const EvalTime& at, EventSink* out) {
  const size_t first = out->events.size();
  domain->Evaluate(at, *job_, out);
  Join(first, out);
}

void JobIssues::EndOnClock(ClockDomain* domain, const EvalTime& at, EventSink* out) {
  const size_t first = out->events.size();
  domain->evaluator().EndAll(EndReason::kAttemptEnded, false, {OnClock(*domain, at), *job_, out});
  Join(first, out);
}

void JobIssues::EndAttempt(const EvalTime& at, EndDetail detail, EventSink* out) {
  const size_t first = out->events.size();
  domains_->ForEach([&](ClockDomain& domain) {
    domain.evaluator().EndAll(EndReason::kAttemptEnded, /*attempt_scope_only=*/!domain.clock().step,
                              {OnClock(domain, at), *job_, out, detail});
  });
  Join(first, out);
}

void JobIssues::EndJob(const EvalTime& at, EndDetail detail, EventSink* out) {
  const size_t first = out->events.size();
  domains_->ForEach([&](ClockDomain& domain) {
    const EvalTime its = OnClock(domain, at);
    domain.evaluator().EndAll(EndReason::kJobEnded, false, {its, *job_, out, detail});
    domain.evaluator().FinishStatuses({its, *job_, out});
  });
  Join(first, out);
}

void JobIssues::Drop(const EvalTime& at) {
  EventSink discarded;
  domains_->ForEach([&](ClockDomain& domain) {
    domain.evaluator().EndAll(EndReason::kNoData, false, {OnClock(domain, at), *job_, &discarded});
  });
  Join(0, &discarded);
}

void JobIssues::Join(size_t first, EventSink* out) {
  const std::span<IssueEvent> events = std::span(out->events).subspan(first);
  std::optional<StringMap<std::string>> nodes;
  const auto nodes_of = [&]() -> const StringMap<std::string>& {
    if (!nodes.has_value()) nodes = NodesOfRanks(*sources_);
    return *nodes;
  };
  for (const IncidentTracker::RootCauseChange& change : incidents_.Apply(events, nodes_of)) {
    bool found = false;
    domains_->ForEach(
        [&](ClockDomain& domain) { found = found || domain.rules().SetRootCause(change); });
  }
}

}  // namespace pitwall::engine
