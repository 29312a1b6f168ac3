// Actors in the scenarios: nodes and ranks of one job that behave normally.
#pragma once

#include <string>
#include <vector>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/scenarios/scenario_log.h"

namespace pitwall::scenarios {

inline const std::string kJob = "job-1";

inline SimSource Node(const Plan& plan, const std::string& name, const std::string& job = kJob,
                      std::vector<std::string> metrics = {"hw_gpu_utilization_ratio"},
                      const std::string& boot = "boot-1") {
  return SimSource(
      job, Cat("collector@", name), boot,
      {.kind = SourceKind::kNode, .node = name, .start = EventTime::FromNs(plan.now())},
      std::move(metrics), Labels({{"node", name}, {"gpu", "0"}}));
}

inline SimSource Rank(const Plan& plan, int rank, const std::string& boot = "boot-1",
                      const std::string& job = kJob) {
  return SimSource(job, Cat("rank-", rank), boot,
                   {.kind = SourceKind::kRank,
                    .node = Cat("node-", rank / 4),
                    .rank = rank,
                    .start = EventTime::FromNs(plan.now())},
                   {"train_step", "train_step_duration_seconds"}, Labels({{"rank", Cat(rank)}}));
}

inline uint64_t Dropped(const engine::EngineCounters& counters, engine::Drop reason) {
  return counters.drops[static_cast<size_t>(reason)];
}

inline std::string LastStatus(const std::vector<IssueEvent>& events, const std::string& alert) {
  std::string last;
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kRuleStatus && e.alert == alert)
      last = std::string(RuleStatusName(e.status));
  }
  return last;
}

// Every source sends a hello before any promise passes the start (time-model.md 1.3).
inline void Join(Plan* plan, std::vector<SimSource>* sources) {
  for (SimSource& source : *sources) plan->Add(source, source.Heartbeat(plan->now()));
}
inline void JoinRanks(Plan* plan, std::vector<SimSource>* ranks) {
  for (SimSource& rank : *ranks) plan->Add(rank, rank.Announce(plan->now(), {"train"}));
}

// Makes all ranks finish step `step` at `now`.
inline void StepAll(Plan* plan, std::vector<SimSource>* ranks, int64_t step,
                    std::string_view mode = "train") {
  for (SimSource& rank : *ranks) {
    if (!rank.alive) continue;
    rank.Set("train_step", static_cast<double>(step));
    rank.Set("train_step_duration_seconds", 1);
    plan->Add(rank, rank.StepDone(plan->now(), mode, step));
  }
}

class Scenario : public ScenarioTest {};

}  // namespace pitwall::scenarios
