#include "services/engine/clocks/job_issues.h"

#include <optional>
#include <span>
#include <string>

#include "services/engine/sources/rank_nodes.h"

namespace pitwall::engine {

void JobIssues::ReplaceRules(const TickContext& at, int64_t origin, EventSink* out) {
  const size_t first = out->events.size();
  domains_->Replace(at, origin, out);
  incidents_.SetProgram(domains_->program());
  Join(first, out);
}

void JobIssues::Evaluate(ClockDomain* domain, const TickContext& at, EventSink* out) {
  const size_t first = out->events.size();
  domain->Evaluate(at, *job_, out);
  Join(first, out);
}

void JobIssues::EndOnClock(ClockDomain* domain, const TickContext& at, EventSink* out) {
  const size_t first = out->events.size();
  domain->EndAll(EndReason::kAttemptEnded, false, OnClock(*domain, at), *job_, out);
  Join(first, out);
}

void JobIssues::EndAttempt(const TickContext& at, EndDetail detail, EventSink* out) {
  const size_t first = out->events.size();
  domains_->ForEach([&](ClockDomain& domain) {
    domain.EndAll(EndReason::kAttemptEnded, /*attempt_scope_only=*/!domain.clock().step,
                  OnClock(domain, at), *job_, out, detail);
  });
  Join(first, out);
}

void JobIssues::EndJob(const TickContext& at, EndDetail detail, EventSink* out) {
  const size_t first = out->events.size();
  domains_->ForEach([&](ClockDomain& domain) {
    const TickContext its = OnClock(domain, at);
    domain.EndAll(EndReason::kJobEnded, false, its, *job_, out, detail);
    domain.FinishStatuses(its, *job_, out);
  });
  Join(first, out);
}

void JobIssues::Drop(const TickContext& at) {
  EventSink discarded;
  domains_->ForEach([&](ClockDomain& domain) {
    domain.EndAll(EndReason::kNoData, false, OnClock(domain, at), *job_, &discarded);
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
    domains_->ForEach([&](ClockDomain& domain) { found = found || domain.SetRootCause(change); });
  }
}

}  // namespace pitwall::engine
