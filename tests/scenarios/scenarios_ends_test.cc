// Scenario 15 of time-model.md, section 9: ranks, attempts, and jobs that end without a goodbye.
// Runs with every log.
#include <gmock/gmock.h>

#include <optional>
#include <set>

#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr char kRules[] = R"(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Always, expr: "max(train_step) >= 0"}
  - {alert: OfTheAttempt, expr: "max(train_step) >= 5", scope: attempt}
  - {alert: CPUSaturated, expr: "system_cpu_utilization_ratio > 0.9", for: 10s}
)";

// Two ranks on one node, as their collector reports them. Each call continues at the time at which
// the previous one ended.
class Training {
 public:
  explicit Training(int64_t base) : plan(base) { Boot("boot-1"); }

  // Starts both ranks and makes the node a source of the job, with new boots.
  void Boot(std::string_view boot) {
    Play(Cat("collector@node-0(boot=", boot, ") beats"));
    Play(Cat("rank-0..1(boot=", boot, " node=node-0 modes=train) beats"));
    ranks_ = {"rank-0", "rank-1"};
    node_ = true;
  }
  void Run(int seconds) {
    const std::string first = Cat(" @", ms_ + 1000, "ms"),
                      last = Cat("..", ms_ + seconds * 1000, "ms\n");
    std::string script;
    if (node_)
      CatTo(script, "collector@node-0 sends system_cpu_utilization_ratio=0.5", first, last);
    if (!ranks_.empty()) {
      CatTo(script, Join(ranks_, ","), " steps ", step_, "..", step_ + seconds - 1,
            " train_step_duration_seconds=1", first, "\n");
    }
    plan.Play(Cat(script, "owner ticks", first, last));
    ms_ += seconds * 1000;
    step_ += seconds;
  }
  // Nothing is sent, except for clock ticks.
  void Silence(int seconds) {
    plan.Play(Cat("owner ticks @", ms_ + 1000, "ms..", ms_ + seconds * 1000, "ms"));
    ms_ += seconds * 1000;
  }
  // After kill -9, the rank's own source reports the kill after all its other data.
  void Kill(int rank) {
    ms_ += 100;
    Play(Cat("rank-", rank, " lost signal=9"));
    std::erase(ranks_, Cat("rank-", rank));
  }
  void KillAll() {
    Kill(0);
    Kill(1);
    // The node's frames no longer belong to the job.
    Play("collector@node-0 goodbye");
    node_ = false;
  }
  void LauncherGone() {
    ms_ += 100;
    Play("rank-1 launcher-gone");
  }
  void Complete() {
    Play("rank-0..1 goodbye");
    ranks_.clear();
    Play("collector@node-0 ends completed");
  }
  // The current time in Unix nanoseconds.
  int64_t now() const { return plan.base() + ms_ * kNanosPerMilli; }

  Plan plan;

 private:
  void Play(std::string_view script) { plan.Play(Cat(script, " @", ms_, "ms")); }

  std::vector<std::string> ranks_;  // alive
  bool node_ = true;
  int64_t ms_ = 0;  // after the base
  int64_t step_ = 0;
};

std::optional<int64_t> TimeOf(const std::vector<IssueEvent>& events, JobChange change) {
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kJobChanged && e.job_change == change) return e.time.ns();
  }
  return std::nullopt;
}

// Dead ranks must not raise an alert. Open issues end with the reason attempt_ended or no_data, and
// never as cleared.
void ExpectIssuesOfDeadRanks(const std::vector<IssueEvent>& events) {
  EXPECT_THAT(Issues(events),
              ElementsAre("found Always", "found OfTheAttempt",
                          "resolved OfTheAttempt attempt_ended", "resolved Always no_data"));
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kIssueResolved && e.end_reason == EndReason::kAttemptEnded) {
      EXPECT_EQ(e.end_detail, EndDetail::kDied);
    }
  }
  EXPECT_EQ(LastStatus(events, "Always"), "NoData");
}

TEST_P(Scenario, S15_OneRankIsKilled) {
  Training job(Base());
  job.Run(20);
  job.Kill(1);
  const int64_t killed = job.now();
  job.Run(3);
  const auto events = Play(kRules, job.plan);
  EXPECT_THAT(JobChanges(events),
              ElementsAre("0 started", "1 attempt_began", "1 rank_lost died 1"));
  ASSERT_EQ(TimeOf(events, JobChange::kRankLost), killed);
  for (const IssueEvent& e : events) {
    if (e.job_change != JobChange::kRankLost) continue;
    ASSERT_TRUE(e.lost_rank.has_value());
    EXPECT_EQ(e.lost_rank->node, "node-0");
    EXPECT_EQ(e.lost_rank->signal, 9);
  }
}

TEST_P(Scenario, S15_AllRanksAreKilled) {
  Training job(Base());
  job.Run(20);
  job.KillAll();
  const int64_t killed = job.now();
  job.Run(130);
  const auto events = Play(kRules, job.plan);
  EXPECT_THAT(JobChanges(events),
              ElementsAre("0 started", "1 attempt_began", "1 rank_lost died 0",
                          "1 rank_lost died 1", "1 attempt_ended died", "1 ended died"));
  EXPECT_EQ(TimeOf(events, JobChange::kAttemptEnded), killed);
  EXPECT_EQ(TimeOf(events, JobChange::kEnded), killed + 120 * kSecond);
  ExpectIssuesOfDeadRanks(events);
}

TEST_P(Scenario, S15_LauncherIsAlsoKilled) {
  Training job(Base());
  job.Run(20);
  job.KillAll();
  job.LauncherGone();
  job.Run(3);
  const auto events = Play(kRules, job.plan);
  EXPECT_THAT(JobChanges(events),
              ElementsAre("0 started", "1 attempt_began", "1 rank_lost died 0",
                          "1 rank_lost died 1", "1 attempt_ended died", "1 ended died"));
  // The rules process the death before the job ends.
  EXPECT_EQ(TimeOf(events, JobChange::kEnded),
            TimeOf(events, JobChange::kRankLost).value_or(0) + 2 * kSecond);
  ExpectIssuesOfDeadRanks(events);
}

TEST_P(Scenario, S15_RestartWithinGracePeriod) {
  Training job(Base());
  job.Run(20);
  job.KillAll();
  job.Run(60);
  job.Boot("boot-2");
  job.Run(130);
  const auto events = Play(kRules, job.plan);
  EXPECT_THAT(JobChanges(events),
              ElementsAre("0 started", "1 attempt_began", "1 rank_lost died 0",
                          "1 rank_lost died 1", "1 attempt_ended died", "2 attempt_began"));
}

TEST_P(Scenario, S15_RestartAfterGracePeriod) {
  Training job(Base());
  job.Run(20);
  job.KillAll();
  job.Run(200);
  Plan rules(Base());
  rules.Play(Cat("owner loads ", Publish(kRules)));
  Write(rules.records);
  Write(job.plan.records);
  auto processor = Start();
  Drain(processor.get());
  std::vector<std::string> changes = JobChanges(Events());
  ASSERT_EQ(changes.back(), "1 ended died");

  job.plan.records.clear();
  job.Boot("boot-2");
  job.Run(20);
  job.Complete();
  job.Run(3);
  Write(job.plan.records);
  // The snapshot contains the job's state, so a processor that starts here restores it.
  processor = Start();
  Drain(processor.get());
  const auto events = Events();
  changes.insert(changes.end(),
                 {"2 attempt_began", "2 attempt_ended completed", "2 ended completed"});
  EXPECT_THAT(JobChanges(events), ElementsAreArray(changes));
  EXPECT_EQ(Encoded(events), Encoded(Reference()));
  std::set<std::string> ids;
  for (const IssueEvent& e : events) EXPECT_TRUE(ids.insert(e.id).second) << e.id;
}

// A silent job ends after half an hour. Data that arrives later starts a new attempt.
TEST_P(Scenario, S15_SilentJobEnds_LaterDataStartsNewAttempt) {
  Training job(Base());
  job.Run(20);
  const int64_t last = job.now();
  job.Silence(31 * 60);
  for (int i = 0; i < 5; ++i) job.Run(1);
  const auto events = Play(kRules, job.plan);
  EXPECT_THAT(JobChanges(events),
              ElementsAre("0 started", "1 attempt_began", "1 attempt_ended silent",
                          "1 ended silent", "2 attempt_began"));
  EXPECT_GE(*TimeOf(events, JobChange::kEnded), last + 30 * 60 * kSecond);
  EXPECT_LE(*TimeOf(events, JobChange::kEnded), last + (30 * 60 + 10) * kSecond);
}

}  // namespace
}  // namespace pitwall::scenarios
