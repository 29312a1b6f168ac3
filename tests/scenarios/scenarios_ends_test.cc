// Scenario 15 of time-model.md, section 9: ranks, attempts, and jobs that end without a goodbye.
// Runs with every log.
#include <gmock/gmock.h>

#include <optional>
#include <set>

#include "services/io/topics.h"
#include "tests/scenarios/actors.h"

namespace pitwall::scenarios {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

constexpr char kRules[] = R"(
groups:
- name: g
  interval: 1s
  rules:
  - alert: Always
    expr: max(train_step) >= 0
  - alert: OfTheAttempt
    expr: max(train_step) >= 5
    scope: attempt
  - alert: CPUSaturated
    expr: system_cpu_utilization_ratio > 0.9
    for: 10s
)";

// Two ranks on one node, as their collector reports them.
class Training {
 public:
  explicit Training(int64_t base)
      : plan(base), node(Node(plan, "node-0", kJob, {"system_cpu_utilization_ratio"})) {
    plan.Add(node, node.Heartbeat(plan.now()));
    Boot("boot-1");
  }

  void Boot(const std::string& boot) {
    ranks.clear();
    for (int r = 0; r < 2; ++r) ranks.push_back(Rank(plan, r, boot));
    JoinRanks(&plan, &ranks);
  }
  // Makes the node a source of the job again, with a new boot.
  void NodeJoins(const std::string& boot) {
    node = Node(plan, "node-0", kJob, {"system_cpu_utilization_ratio"}, boot);
    plan.Add(node, node.Heartbeat(plan.now()));
  }
  void Run(int seconds) {
    plan.Run(seconds, [&](int64_t now) {
      node.Set("system_cpu_utilization_ratio", 0.5);
      if (node.alive) plan.Add(node, node.Row(now));
      StepAll(&plan, &ranks, step++);
    });
  }
  // After kill -9, the rank's own source reports the kill after all its other data.
  void Kill(size_t rank) {
    plan.Wait(kSecond / 10);
    SimSource& source = ranks[rank];
    source.alive = false;
    JobEvent event;
    event.kind = JobEvent::Kind::kRankLost;
    event.rank_lost.rank = static_cast<int64_t>(rank);
    event.rank_lost.source = source.id();
    event.rank_lost.boot_id = source.boot();
    event.rank_lost.signal = 9;
    plan.Add(source, source.Event(plan.now(), std::move(event)));
  }
  void KillAll() {
    Kill(0);
    Kill(1);
    // The node's frames no longer belong to the job.
    plan.Add(node, node.Goodbye(plan.now()));
    node.alive = false;
  }
  void LauncherGone() {
    plan.Wait(kSecond / 10);
    JobEvent event;
    event.kind = JobEvent::Kind::kLauncherGone;
    plan.Add(ranks[1], ranks[1].Event(plan.now(), std::move(event)));
  }

  Plan plan;
  SimSource node;
  std::vector<SimSource> ranks;
  int64_t step = 0;
};

std::optional<int64_t> TimeOf(const std::vector<IssueEvent>& events, JobChange change) {
  for (const IssueEvent& e : events) {
    if (e.type == EventType::kJobChanged && e.job_change == change) return e.time.ns();
  }
  return std::nullopt;
}

TEST_P(Scenario, S15_OneRankIsKilled) {
  Training job(Base());
  job.Run(20);
  job.Kill(1);
  const int64_t killed = job.plan.now();
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
  const int64_t killed = job.plan.now();
  job.Run(130);
  const auto events = Play(kRules, job.plan);
  EXPECT_THAT(JobChanges(events),
              ElementsAre("0 started", "1 attempt_began", "1 rank_lost died 0",
                          "1 rank_lost died 1", "1 attempt_ended died", "1 ended died"));
  EXPECT_EQ(TimeOf(events, JobChange::kAttemptEnded), killed);
  EXPECT_EQ(TimeOf(events, JobChange::kEnded), killed + 120 * kSecond);
  // Dead ranks must not raise an alert. Open issues end with the reason attempt_ended or no_data,
  // and never as cleared.
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

TEST_P(Scenario, S15_RestartWithinGracePeriod) {
  Training job(Base());
  job.Run(20);
  job.KillAll();
  job.Run(60);
  job.Boot("boot-2");
  job.NodeJoins("boot-2");
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
  const std::string hash = Publish(kRules);
  std::vector<PlannedRecord> records = {
      {job.plan.base(), std::string(kControlKey), RulesRecord(hash), ""}};
  records.insert(records.end(), job.plan.records.begin(), job.plan.records.end());
  Write(records);
  auto processor = Start();
  Drain(processor.get());
  std::vector<std::string> changes = JobChanges(Events());
  ASSERT_EQ(changes.back(), "1 ended died");

  job.plan.records.clear();
  job.Boot("boot-2");
  job.NodeJoins("boot-2");
  job.Run(20);
  for (SimSource& rank : job.ranks) {
    rank.alive = false;
    job.plan.Add(rank, rank.Goodbye(job.plan.now()));
  }
  JobEvent ended;
  ended.kind = JobEvent::Kind::kEnded;
  ended.reason = "completed";
  job.plan.Add(job.node, job.node.Event(job.plan.now(), std::move(ended)));
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
  const int64_t last = job.plan.now();
  job.plan.Run(31 * 60, [](int64_t) {});
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
