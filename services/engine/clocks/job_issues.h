// Issues in one job, across all its clocks. Each function assigns incidents to the issues that it
// finds or ends, reports changed root causes to the rules, and then emits the events. The events of
// one call form one batch, because an issue that ends in the batch may still cause an issue found
// in it.
#pragma once

#include <span>

#include "services/engine/clocks/clock_domains.h"
#include "services/engine/incidents/incidents.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// Not thread-safe.
class JobIssues {
 public:
  // All pointers are borrowed.
  JobIssues(const EngineOptions& options, const JobIdentity* job, EngineCounters* counters,
            ClockDomains* domains, const SourceMap* sources)
      : job_(job), domains_(domains), sources_(sources), incidents_(options, counters) {}

  // Must be called after ClockDomains::Begin.
  void Begin() { incidents_.SetProgram(domains_->program()); }
  // Replaces the rules through ClockDomains::Replace.
  void ReplaceRules(const EvalTime& at, EventTime origin, EventSink* out);
  // Evaluates the rules of one domain at a tick on the domain's clock.
  void Evaluate(ClockDomain* domain, const EvalTime& at, EventSink* out);
  // Ends the issues on a step clock whose windows restart.
  void EndOnClock(ClockDomain* domain, const EvalTime& at, EventSink* out);
  // Ends the issues of an attempt. On the time clock, this applies only to issues with scope
  // attempt.
  void EndAttempt(const EvalTime& at, EndDetail detail, EventSink* out);
  // Ends all issues and reports final statuses.
  void EndJob(const EvalTime& at, EndDetail detail, EventSink* out);
  // Drops all issues without emitting events.
  void Drop(const EvalTime& at);
  void Clear() { incidents_.Clear(); }

  size_t MemoryBytes() const { return incidents_.MemoryBytes(); }
  void Save(BinaryWriter& out) const { incidents_.Save(out); }
  void Restore(BinaryReader& in) { incidents_.Restore(in); }

 private:
  // Completes the events of one batch and emits them in order.
  void Emit(std::span<IssueEvent> batch, EventSink* out);
  // Adds incidents and root causes to the events.
  void Relate(std::span<IssueEvent> batch);

  const JobIdentity* const job_;
  ClockDomains* const domains_;
  const SourceMap* const sources_;
  IncidentTracker incidents_;
};

}  // namespace pitwall::engine
