#include "services/engine/clocks/job_issues.h"

#include <optional>
#include <string>
#include <utility>

#include "services/engine/sources/rank_nodes.h"

namespace pitwall::engine {

void JobIssues::ReplaceRules(const EvalTime& at, EventTime origin, EventSink* out) {
  EventSink batch;
  domains_->Replace(at, origin, &batch);
  incidents_.SetProgram(domains_->program());
  Emit(batch.events, out);
}

void JobIssues::Evaluate(ClockDomain* domain, const EvalTime& at, EventSink* out) {
  EventSink batch;
  domain->Evaluate(at, *job_, &batch);
  Emit(batch.events, out);
}

void JobIssues::EndOnClock(ClockDomain* domain, const EvalTime& at, EventSink* out) {
  EventSink batch;
  domain->evaluator().EndAll(EndReason::kAttemptEnded, false,
                             {OnClock(*domain, at), *job_, &batch});
  Emit(batch.events, out);
}

void JobIssues::EndAttempt(const EvalTime& at, EndDetail detail, EventSink* out) {
  EventSink batch;
  domains_->ForEach([&](ClockDomain& domain) {
    domain.evaluator().EndAll(EndReason::kAttemptEnded, /*attempt_scope_only=*/!domain.clock().step,
                              {OnClock(domain, at), *job_, &batch, detail});
  });
  Emit(batch.events, out);
}

void JobIssues::EndJob(const EvalTime& at, EndDetail detail, EventSink* out) {
  EventSink batch;
  domains_->ForEach([&](ClockDomain& domain) {
    const EvalTime its = OnClock(domain, at);
    domain.evaluator().EndAll(EndReason::kJobEnded, false, {its, *job_, &batch, detail});
    domain.evaluator().FinishStatuses({its, *job_, &batch});
  });
  Emit(batch.events, out);
}

void JobIssues::Drop(const EvalTime& at) {
  EventSink discarded;
  domains_->ForEach([&](ClockDomain& domain) {
    domain.evaluator().EndAll(EndReason::kNoData, false, {OnClock(domain, at), *job_, &discarded});
  });
  Relate(discarded.events);
}

void JobIssues::Emit(std::span<IssueEvent> batch, EventSink* out) {
  Relate(batch);
  for (IssueEvent& event : batch) out->Emit(std::move(event));
}

void JobIssues::Relate(std::span<IssueEvent> batch) {
  std::optional<StringMap<std::string>> nodes;
  const auto nodes_of = [&]() -> const StringMap<std::string>& {
    if (!nodes.has_value()) nodes = NodesOfRanks(*sources_);
    return *nodes;
  };
  for (const IncidentTracker::RootCauseChange& change : incidents_.Apply(batch, nodes_of)) {
    bool found = false;
    domains_->ForEach(
        [&](ClockDomain& domain) { found = found || domain.rules().SetRootCause(change); });
  }
}

}  // namespace pitwall::engine
