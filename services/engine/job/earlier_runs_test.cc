// Tests for comparisons of a running job with summaries of finished jobs (rules/plan/baseline.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "services/base/time.h"
#include "services/engine/domain/recordings.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kRules[] = R"rules(
groups:
- name: time
  interval: 1s
  rules:
  - {alert: Above, expr: "power > on () group_right () 2 * baseline_power:median"}
- name: steps
  clock: step
  interval: 10
  rules:
  - {alert: Differs, needs: [loss, baseline_loss], expr: "baseline_loss - on () group_left () loss > 0.5 and timestamp(baseline_loss) == on () group_left () timestamp(loss)"}
  - {alert: Slow, expr: "baseline_power:median * 0 + on () group_left () avg_over_time(loss[10]) > 100"}
)rules";

RulesForTest::Files Runs(std::string_view power, std::string_view points) {
  return {{"a.yaml", Cat("run: a\nmatch: {job: job}\nseries:\n- {name: 'power:median', value: ",
                         power, "}\n- {name: loss, mode: train, points: '", points, "'}\n")}};
}

// Feeds, for each second, 10 steps of `loss` from one rank and one sample of `power`.
void Feed(ShardForTest* shard, int from, int to, double power, double loss, int first_step = 0) {
  const int steps = 10 * (to - from + 1);
  shard->Play(Cat("node sends power=", power, " @", from, "s..", to, "s; rank-0 steps ",
                  first_step + 1, "..", first_step + steps, " loss{}=", loss, " @", from - 0.9,
                  "s every 100ms batch 10"));
}

// Returns issue events, such as "found Differs a at step 20". Omits statuses and updates.
std::vector<std::string> Issues(const ShardForTest& shard) {
  std::vector<std::string> out;
  for (const IssueEvent& e : shard.outputs().events) {
    if (e.type != EventType::kIssueFound && e.type != EventType::kIssueResolved) continue;
    out.push_back(Cat(e.type == EventType::kIssueFound ? "found " : "resolved ", e.alert, " ",
                      e.labels.Get("run"), " at ",
                      e.step != kNoStep
                          ? Cat("step ", e.step)
                          : Cat((e.time.ns() - ShardForTest::kBase) / kNanosPerSecond, " s")));
  }
  return out;
}

TEST(EarlierRuns, StepValuesApplyAtTheirSteps_ConstantsAlwaysApply) {
  // The job's loss is 1 at every step. The baseline's loss was 1.2 at step 20, 2 at step 40, and 9
  // at step 45 (no tick).
  ShardForTest shard(kRules, {}, Runs("100", "20:1.2 40:2 45:9 100000:7"));
  Feed(&shard, 1, 10, 150, 1);
  EXPECT_THAT(Issues(shard),
              ElementsAre("found Differs a at step 40", "resolved Differs a at step 50"));
  Feed(&shard, 11, 12, 250, 1, 100);
  EXPECT_THAT(Issues(shard), Contains("found Above a at 11 s"));
  Feed(&shard, 13, 15, 250, 1000, 120);
  EXPECT_THAT(Issues(shard), Contains("found Slow a at step 130"));
}

TEST(EarlierRuns, BaselineOfAnotherJob_StatusIsNoData) {
  RulesForTest::Files runs = Runs("1", "20:100");
  const size_t at = runs[0].text.find("job: job");
  runs[0].text.replace(at, 8, "job: bert");
  ShardForTest shard(kRules, {}, runs);
  Feed(&shard, 1, 10, 150, 1);
  EXPECT_THAT(Issues(shard), IsEmpty());
  EXPECT_EQ(shard.StatusOf("Differs"), "NoData no series of baseline_loss");
  EXPECT_EQ(shard.StatusOf("Above"), "NoData no series of baseline_power:median");
}

TEST(EarlierRuns, BaselineWithoutMatchingSteps_IsNotReportedAsMissing) {
  ShardForTest shard(kRules, {}, Runs("100", "100000:7"));
  Feed(&shard, 1, 20, 150, 1);
  EXPECT_EQ(shard.Events().back(), "status NoIssuesFound Differs ");
}

TEST(EarlierRuns, RuleSetAddsAndRemovesBaselines) {
  ShardForTest shard(kRules);
  Feed(&shard, 1, 5, 250, 1);
  EXPECT_THAT(Issues(shard), IsEmpty());
  shard.ChangeRules(kRules, Runs("100", "70:9"));
  Feed(&shard, 6, 8, 250, 1, 50);
  EXPECT_THAT(Issues(shard), ElementsAre("found Above a at 6 s", "found Differs a at step 70",
                                         "resolved Differs a at step 80"));
  shard.ChangeRules(
      kRules, Runs("100", "70:9 100:9"));  // Series that remain in the set are not interrupted.
  Feed(&shard, 9, 10, 250, 1, 80);
  EXPECT_THAT(Issues(shard), Contains("found Differs a at step 100"));
  EXPECT_THAT(Issues(shard), Not(Contains(HasSubstr("resolved Above"))));
  shard.ChangeRules(kRules);
  Feed(&shard, 11, 12, 250, 1, 100);
  EXPECT_THAT(Issues(shard), Contains("resolved Above a at 11 s"));
  EXPECT_THAT(Issues(shard), Contains("resolved Differs a at step 110"));
}

TEST(EarlierRuns, RestartDoesNotChangeEvents) {
  const RulesForTest::Files runs = Runs("100", "20:1.2 40:2 70:3 100:5 140:9");
  ShardForTest reference(kRules, {}, runs);
  ShardForTest shard(kRules, {}, runs);
  for (int t = 1; t <= 20; ++t) {
    const double watts = t > 12 ? 250 : 150;
    Feed(&reference, t, t, watts, 1, 10 * (t - 1));
    Feed(&shard, t, t, watts, 1, 10 * (t - 1));
    shard.Restart();
  }
  EXPECT_EQ(shard.Events(), reference.Events());
  EXPECT_THAT(Issues(shard), Contains("found Differs a at step 140"));
}

TEST(EarlierRuns, StepGoesBack_BaselineAppliesAgain) {
  ShardForTest shard(kRules, {}, Runs("100", "40:2"));
  Feed(&shard, 1, 6, 150, 1);
  Feed(&shard, 7, 10, 150, 1, 20);
  EXPECT_THAT(Issues(shard),
              ElementsAre("found Differs a at step 40", "resolved Differs a at step 50",
                          "found Differs a at step 40", "resolved Differs a at step 50"));
}

// A billion-step jump must not cost a billion evaluations, even if a summary has values for all
// steps.
TEST(EarlierRuns, StepJumpCostsFewEvaluations) {
  std::string points;
  for (int64_t step = 0; step < 2'000'000; step += 100) CatTo(points, step, ":2 ");
  ShardForTest shard(kRules, {}, Runs("100", points));
  Feed(&shard, 1, 12, 150, 1);
  Feed(&shard, 13, 14, 150, 1, 1'500'000);
  Feed(&shard, 15, 15, 150, 1, 1'500'020);
  EXPECT_LT(shard.shard().counters().evaluations, 10'000U);
  // The baseline series are present on both sides of the jump.
  EXPECT_THAT(Issues(shard), Contains("found Differs a at step 100"));
  Feed(&shard, 16, 30, 150, 1, 1'500'030);
  EXPECT_THAT(Issues(shard), Contains("found Differs a at step 1500100"));
}

// A summary starts to apply when a rank reports matching labels, and stops applying when a rank
// reports other values. The arrival order of the reports does not matter.
TEST(EarlierRuns, BaselineAppliesToJobsWithMatchingLabels) {
  RulesForTest::Files runs = Runs("100", "");
  runs[0].text = "run: a\nmatch: {config: x}\nseries:\n- {name: 'power:median', value: 100}\n";
  std::vector<std::string> expected;
  for (const bool node_first : {true, false}) {
    ShardForTest shard(kRules, {}, runs);
    shard.Play("r0 starts config=x team=nlp @0s promise 1s arrives 1s");
    Feed(&shard, 1, 20, 250, 1);
    shard.Play("r0 starts team=vision @20s");  // The label `config` remains.
    Feed(&shard, 21, 30, 250, 1, 200);
    if (node_first) Feed(&shard, 31, 60, 250, 1, 300);
    shard.Play("r0 starts config=y @35s promise 40s arrives 40s");
    if (!node_first) Feed(&shard, 31, 60, 250, 1, 300);
    shard.Play("r0 starts @36s promise 60s arrives 60s");
    if (node_first) {
      expected = Issues(shard);
      // The constant value is written at the first multiple of 15 s.
      EXPECT_THAT(expected, ElementsAre(HasSubstr("found Above a"), "resolved Above a at 36 s"));
    } else {
      EXPECT_EQ(Issues(shard), expected);
    }
  }
}

class Kept final : public RecordingObserver {
 public:
  void Recorded(const JobIdentity& job, const ClockSpec& clock, const EvalTime& at,
                const Labels& labels, double value) override {
    EXPECT_GT(at.time.ns(), ShardForTest::kBase);
    if (clock.step) {
      got[Cat(job.id, " ", clock.mode, " ", labels.ToString(), " ", at.step.value())] = value;
    } else {
      got[Cat(job.id, " ", labels.ToString())] = value;
    }
  }
  std::map<std::string, double> got;
};

TEST(EarlierRuns, RecordedSamplesCanBeObserved) {
  Kept kept;
  ShardForTest shard(R"rules(
groups:
- {name: time, interval: 1s, rules: [{record: "summary:power", expr: "max_over_time(power[1h])"}]}
- {name: steps, clock: step, interval: 20, rules: [{record: "summary:loss", expr: loss}]}
)rules",
                     {.recordings = &kept});
  Feed(&shard, 1, 3, 150, 1);
  shard.Restart();
  Feed(&shard, 4, 5, 120, 2, 30);
  EXPECT_THAT(kept.got, ElementsAre(std::pair("job summary:power", 150.0),
                                    std::pair("job train summary:loss 20", 1.0),
                                    std::pair("job train summary:loss 40", 2.0)));
}

}  // namespace
}  // namespace pitwall::engine
