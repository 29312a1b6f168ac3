// Tests for a hang that kills the job. The hang and the death form one incident, and the hang ends
// with the detail "died".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "services/base/time.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::ElementsAre;

constexpr char kHangAndDeath[] = R"rules(
groups:
- name: deaths
  interval: 500ms
  rules:
  - {alert: RankDied, expr: 'pitwall_rank_lost{verdict="died"} == 1', labels: {severity: critical, category: death}}
- name: hangs
  interval: 500ms
  rules:
  - alert: Hang
    expr: max(stands_still) == 1
    keep_firing_for: 2s
    scope: attempt
    explains: [{alert: RankDied, scope: job, lag: 1m}]
    labels: {severity: critical, category: hang}
)rules";

// Two ranks that hang starting at second 3. The collector on their node reports their deaths.
class HangThenDeath : public ::testing::Test {
 protected:
  void SetUp() override {
    Play(R"(rank-0..1(boot=one start=0.5s node=node) sends stands_still=0 @1s..2s
            rank-0..1 sends stands_still=1 @3s..9s)");
  }
  void Play(std::string_view script) { shard_.Play(script); }
  // Returns "found Hang of Hang" or "resolved Hang of Hang, attempt_ended died" for each issue. An
  // incident is named after its first issue.
  std::vector<std::string> IssueEvents() const {
    std::map<std::string, std::string> names;
    std::vector<std::string> out;
    for (const IssueEvent& e : shard_.outputs().events) {
      if (e.type == EventType::kRuleStatus || e.type == EventType::kJobChanged) continue;
      names.try_emplace(e.incident, e.alert);
      std::string line =
          Cat(EventTypeName(e.type).substr(17), " ", e.alert, " of ", names[e.incident]);
      if (e.type == EventType::kIssueResolved)
        CatTo(line, ", ", EndReasonName(e.end_reason), " ", EndDetailName(e.end_detail));
      out.push_back(std::move(line));
    }
    return out;
  }

  ShardForTest shard_{kHangAndDeath};
};

TEST_F(HangThenDeath, DeathsWithinOneTickAreOneIncident) {
  Play("rank-0 lost signal=6 @9.1s; rank-1 lost signal=6 @9.2s");
  Play("owner ticks 5 @1000s");
  EXPECT_THAT(IssueEvents(), ElementsAre("found Hang of Hang", "found RankDied of Hang",
                                         "resolved Hang of Hang, attempt_ended died"));
}

TEST_F(HangThenDeath, SimultaneousDeathsAreOneIncident) {
  Play("rank-0 lost signal=9 @9.1s; rank-1 lost signal=9 @9.1s");
  Play("owner ticks 5 @1000s");
  EXPECT_THAT(IssueEvents(), ElementsAre("found Hang of Hang", "found RankDied of Hang",
                                         "resolved Hang of Hang, attempt_ended died"));
}

TEST_F(HangThenDeath, SnapshotInBetweenDoesNotChangeEvents) {
  Play("rank-0 lost signal=6 @9.1s");
  shard_.Restart();
  Play("rank-1 lost signal=6 @9.2s");
  shard_.Restart();
  Play("owner ticks 1 @1000s");
  shard_.Restart();
  Play("owner ticks 4 @1000s");
  EXPECT_THAT(IssueEvents(), ElementsAre("found Hang of Hang", "found RankDied of Hang",
                                         "resolved Hang of Hang, attempt_ended died"));
}

TEST_F(HangThenDeath, RestartBeforeVerdict_HangEndsWithAttempt) {
  Play("rank-0 lost signal=6 @9.1s; rank-1 lost signal=6 @9.2s");
  Play("rank-0..1(boot=two start=9.7s) sends stands_still=0 @9.8s");
  Play("owner ticks 5 @1000s");
  const std::vector<std::string> events = IssueEvents();
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events[0], "found Hang of Hang");
  EXPECT_THAT(events, ::testing::Contains("resolved Hang of Hang, attempt_ended died"));
  EXPECT_EQ(std::count(events.begin(), events.end(), "found Hang of Hang"), 1);
}

}  // namespace
}  // namespace pitwall::engine
