// Tests for ranks that stop stepping, fall behind, or return (time-model.md, section 3).
#include "services/engine/domain/step_clocks.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kRules[] = R"rules(
groups:
- name: g
  clock: step
  interval: 1
  rules:
  - {alert: LossNotFinite, expr: train_loss != train_loss}
  - {alert: MeanLossHigh, expr: "avg without (rank) (train_loss) > 5", annotations: {description: High.}}
)rules";

// Rank that logs a loss and promises the step, in one batch per step, like a Python client.
class RankForTest {
 public:
  RankForTest(ShardForTest* shard, int64_t rank, double clock_error = 0)
      : shard_(shard), rank_(rank), clock_error_(clock_error) {
    schema_ = SchemaOf(
        {{Labels({{kMetricName, "train_loss"}, {"rank", Cat(rank)}}), SeriesKind::kGauge}});
  }

  void Step(double at, int64_t step, double loss = 1, std::string_view mode = "train") {
    const int64_t times[] = {ShardForTest::At(at + clock_error_)};
    const int64_t steps[] = {step};
    const double values[] = {loss};
    Batch batch = Base();
    batch.schemas.push_back(schema_);
    batch.info.step_modes = {std::string(mode)};
    batch.frames.push_back({.schema_id = schema_.id, .times = times, .values = values});
    batch.frames.back().steps = steps;
    batch.frames.back().mode = mode;
    batch.step_promises.push_back({std::string(mode), step});
    shard_->Feed(batch, at + clock_error_);
  }
  // Sends one batch with all steps of the second that ends at `at`, and a promise for the last
  // step.
  void Steps(double at, int64_t first, int count, double loss) {
    std::vector<int64_t> times, steps;
    for (int i = 0; i < count; ++i) {
      times.push_back(ShardForTest::At(at - 1 + (i + 1.0) / count));
      steps.push_back(first + i);
    }
    const std::vector<double> values(times.size(), loss);
    Batch batch = Base();
    batch.info.step_modes = {"train"};
    batch.frames.push_back({.schema_id = schema_.id, .times = times, .values = values});
    batch.frames.back().steps = steps;
    batch.frames.back().mode = "train";
    batch.step_promises.push_back({"train", steps.back()});
    shard_->Feed(batch, at);
  }
  void Heartbeat(double at) { shard_->Feed(Base(), at + clock_error_); }
  void Goodbye(double at) {
    Batch batch = Base();
    batch.goodbye = true;
    shard_->Feed(batch, at + clock_error_);
  }
  void EndJob(double at) {
    Batch batch = Base();
    batch.events.push_back(
        {.kind = JobEvent::Kind::kEnded, .time = EventTime::FromNs(ShardForTest::At(at))});
    batch.events.back().reason = "completed";
    shard_->Feed(batch, at + clock_error_);
  }

 private:
  Batch Base() const {
    Batch batch;
    batch.source = source_;
    batch.info.kind = SourceKind::kRank;
    batch.info.rank = rank_;
    return batch;
  }

  ShardForTest* const shard_;
  const int64_t rank_;
  const double clock_error_;
  const std::string source_ = Cat("rank-", rank_);
  Schema schema_;
};

std::vector<std::string> Issues(const ShardForTest& shard) {
  std::vector<std::string> issues;
  for (const IssueEvent& event : shard.outputs().events) {
    if (event.type == EventType::kIssueFound)
      issues.push_back(Cat(event.alert, " rank ", event.labels.Get("rank"), " step ", event.step));
  }
  return issues;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class StepClockTest : public ::testing::TestWithParam<bool> {
 protected:
  // If the test parameter is set, occasionally restores everything from a snapshot.
  void MayRestart() {
    if (GetParam()) shard_.Restart();
  }
  // Returns the number of samples dropped because other ranks were ahead.
  uint64_t late() const { return shard_.drops(Drop::kLateStep); }

  ShardForTest shard_{kRules};
  RankForTest zero_{&shard_, 0}, one_{&shard_, 1};
};

INSTANTIATE_TEST_SUITE_P(, StepClockTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Restarted" : "Live"; });

TEST_P(StepClockTest, RankFinishesEarlyAndStaysAlive_OthersAreStillEvaluated) {
  for (int s = 0; s < 300; ++s) {
    zero_.Step(s + 1.0, s, s >= 150 ? kNaN : 1);
    if (s < 100) {
      one_.Step(s + 1.0, s);
    } else {
      one_.Heartbeat(s + 1.0);
    }
    if (s % 50 == 49) MayRestart();
  }
  EXPECT_THAT(Issues(shard_), Contains("LossNotFinite rank 0 step 150"));
}

TEST_P(StepClockTest, NoRankSteps_AllStayOnSharedClock) {
  for (int s = 0; s < 50; ++s) {
    zero_.Step(s + 1.0, s);
    one_.Step(s + 1.0, s);
  }
  for (int s = 50; s < 1250; ++s) {
    zero_.Heartbeat(s + 1.0);
    one_.Heartbeat(s + 1.0);
    if (s == 600) MayRestart();
  }
  for (int s = 50; s < 60; ++s) {
    zero_.Step(s + 1250.0, s, 9);
    one_.Step(s + 1250.0, s, 0);
  }
  // The mean still covers both ranks.
  EXPECT_THAT(Issues(shard_), IsEmpty());
  EXPECT_EQ(late(), 0U);
}

TEST_P(StepClockTest, RankReturnsAfter200Steps_IsEvaluatedFromItsNextStep) {
  for (int s = 0; s < 400; ++s) {
    zero_.Step(s + 1.0, s);
    const int own = s < 50 ? s : s - 200;
    if (s < 50 || s >= 250) {
      one_.Step(s + 1.0, own, own == 60 ? kNaN : 1);
    } else {
      one_.Heartbeat(s + 1.0);
    }
    if (s % 40 == 39) MayRestart();
  }
  EXPECT_THAT(Issues(shard_), ElementsAre("LossNotFinite rank 1 step 60"));
  EXPECT_EQ(late(), 0U);
}

TEST_P(StepClockTest, RankCatchesUp_ReturnsToSharedClock) {
  for (int s = 0; s < 100; ++s) {
    zero_.Step(s + 1.0, s);
    if (s < 50) one_.Step(s + 1.0, s);
  }
  MayRestart();
  for (int s = 50; s < 100; ++s) {
    one_.Step(s + 100.0, s);
    zero_.Heartbeat(s + 100.0);
  }
  MayRestart();
  for (int s = 100; s < 120; ++s) {
    zero_.Step(s + 200.0, s, 9);
    one_.Step(s + 200.0, s, 0);
  }
  EXPECT_THAT(Issues(shard_), IsEmpty());
  EXPECT_EQ(late(), 0U);
}

TEST_P(StepClockTest, RanksWithDifferentStepRates_AreEvaluatedWithoutDelay) {
  for (int s = 0; s < 2000; ++s) {
    zero_.Step(1 + s * 0.1, s, s == 1500 ? kNaN : 1);
    if (s % 10 == 0) one_.Step(1 + s * 0.1, s / 10, s >= 1000 ? kNaN : 1);
    if (s % 300 == 299) MayRestart();
    // No clock waits for more than a small part of the job's duration.
    if (s == 1800) {
      EXPECT_THAT(Issues(shard_),
                  ElementsAre("LossNotFinite rank 1 step 100", "LossNotFinite rank 0 step 1500"));
    }
  }
  EXPECT_EQ(late(), 0U);
}

TEST_P(StepClockTest, RankAbandonsMode_OthersAreEvaluated) {
  for (int s = 0; s < 200; ++s) {
    zero_.Step(s + 1.0, s, s == 150 ? kNaN : 1, "eval");
    if (s < 5) {
      one_.Step(s + 1.0, s, 1, "eval");
    } else {
      one_.Heartbeat(s + 1.0);
    }
    if (s % 40 == 39) MayRestart();
  }
  EXPECT_THAT(Issues(shard_), IsEmpty());  // No rule reads the mode eval.
  ShardForTest eval(
      "groups:\n- {name: g, clock: step, mode: eval, interval: 1, rules: [{alert: "
      "NaN, expr: train_loss != train_loss}]}\n");
  RankForTest zero(&eval, 0), one(&eval, 1);
  for (int s = 0; s < 200; ++s) {
    zero.Step(s + 1.0, s, s == 150 ? kNaN : 1, "eval");
    if (s < 5)
      one.Step(s + 1.0, s, 1, "eval");
    else
      one.Heartbeat(s + 1.0);
  }
  EXPECT_THAT(Issues(eval), ElementsAre("NaN rank 0 step 150"));
}

TEST_P(StepClockTest, RuleAcrossRanks_NamesTheMissingRank) {
  for (int s = 0; s < 200; ++s) {
    zero_.Step(s + 1.0, s, s >= 150 ? 9 : 1);
    if (s < 100) {
      one_.Step(s + 1.0, s);
    } else {
      one_.Heartbeat(s + 1.0);
    }
    if (s % 40 == 39) MayRestart();
  }
  std::vector<std::string> descriptions;
  for (const IssueEvent& event : shard_.outputs().events) {
    if (event.alert == "MeanLossHigh" && event.type == EventType::kIssueFound)
      descriptions.push_back(event.description);
  }
  EXPECT_THAT(descriptions, ElementsAre("High. Evaluated without rank 1."));
}

TEST_P(StepClockTest, MissingRankEnds_IsNoLongerNamed) {
  for (int s = 0; s < 200; ++s) {
    zero_.Step(s + 1.0, s, s >= 150 ? 9 : 1);
    if (s < 50) {
      one_.Step(s + 1.0, s);
    } else if (s < 100) {
      one_.Heartbeat(s + 1.0);
    } else if (s == 100) {
      one_.Goodbye(s + 1.0);
      MayRestart();
    }
  }
  std::vector<std::string> descriptions;
  for (const IssueEvent& event : shard_.outputs().events) {
    if (event.type == EventType::kIssueFound) descriptions.push_back(event.description);
  }
  EXPECT_THAT(descriptions, ElementsAre("High."));
}

TEST_P(StepClockTest, ThreeStepJobEnds_PendingStepsAreEvaluated) {
  for (int s = 0; s < 3; ++s) zero_.Step(s + 1.0, s, s == 2 ? kNaN : 1);
  one_.Step(1.0, 0);  // The rank promised only one step.
  MayRestart();
  zero_.EndJob(5);
  one_.Heartbeat(6);
  EXPECT_THAT(Issues(shard_), ElementsAre("LossNotFinite rank 0 step 2"));
}

TEST_P(StepClockTest, LastRankLeaves_PendingStepsAreEvaluated) {
  for (int s = 0; s < 10; ++s) {
    zero_.Step(s + 1.0, s, s == 9 ? kNaN : 1);
    if (s < 5) one_.Step(s + 1.0, s);
  }
  MayRestart();
  one_.Goodbye(11);
  zero_.Goodbye(12);
  EXPECT_THAT(Issues(shard_), ElementsAre("LossNotFinite rank 0 step 9"));
}

TEST_P(StepClockTest, OneRankJumpsFarAhead_OthersStayTogether) {
  for (int s = 0; s < 60; ++s) {
    zero_.Step(s + 1.0, s == 30 ? 1'000'000'000 : s, 0);
    if (s == 30) break;
    one_.Step(s + 1.0, s);
  }
  for (int s = 31; s < 60; ++s) one_.Step(s + 1.0, s, s == 40 ? kNaN : 1);
  MayRestart();
  one_.EndJob(100);
  zero_.Heartbeat(101);
  EXPECT_THAT(Issues(shard_), ElementsAre("LossNotFinite rank 1 step 40"));
}

// Scenario B2: if a source's clock is more than 60 s ahead, its promises and step modes are
// rejected.
TEST_P(StepClockTest, RankClockOneHourAhead_OthersAreEvaluated) {
  RankForTest ahead(&shard_, 2, 3600);
  for (int s = 0; s < 100; ++s) {
    shard_.SetAppendTime(s + 1.0);
    ahead.Step(s + 1.0, s);
    zero_.Step(s + 1.0, s, s == 20 ? kNaN : 1);
    one_.Step(s + 1.0, s);
    if (s % 40 == 39) MayRestart();
    if (s == 30) {
      EXPECT_THAT(Issues(shard_), ElementsAre("LossNotFinite rank 0 step 20"));
    }
  }
}

TEST_P(StepClockTest, RankClock45SecondsAhead_OthersAreNotLost) {
  RankForTest ahead(&shard_, 2, 45);
  for (int s = 0; s < 100; ++s) {
    shard_.SetAppendTime(s + 1.0);
    ahead.Step(s + 1.0, s);
    zero_.Step(s + 1.0, s, s == 95 ? kNaN : 1);
    one_.Step(s + 1.0, s);
  }
  MayRestart();
  zero_.EndJob(100);
  one_.Heartbeat(101);
  ahead.Heartbeat(101);
  EXPECT_THAT(Issues(shard_), ElementsAre("LossNotFinite rank 0 step 95"));
}

// With 1,000 steps per second in one batch, a rank that is half a second behind another does not
// count as lagging.
TEST_P(StepClockTest, FastStepsInBatches_NoRankLeaves) {
  zero_.Step(1, 0, 0);
  one_.Step(1, 0, 0);
  for (int second = 0; second < 6; ++second) {
    zero_.Steps(2 + second, 1000 * second + 1, 1000, 9);
    one_.Steps(2.5 + second, 1000 * second + 1, 1000, 0);
    if (second == 3) MayRestart();
  }
  EXPECT_THAT(Issues(shard_), IsEmpty());
  EXPECT_EQ(late(), 0U);
}

}  // namespace
}  // namespace pitwall::engine
