// Tests step tables and the views derived from them: phases, what-if estimates, operators, and
// tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/history/testing/vector_history.h"
#include "services/history/views/steps/heat_map.h"
#include "services/history/views/steps/operator_ranking.h"
#include "services/history/views/steps/phase_times.h"
#include "services/history/views/steps/statistics.h"
#include "services/history/views/steps/step_matrix.h"
#include "services/history/views/steps/step_table.h"
#include "services/history/views/steps/what_if.h"
#include "services/history/views/tensor_table.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::SizeIs;

VectorHistory::Column StepColumn(std::string_view metric, int rank, std::string_view label,
                                 std::string_view value, std::vector<double> ends,
                                 std::vector<double> values, std::vector<int64_t> steps) {
  const Labels labels = Labels{{"__name__", metric}, {"rank", Cat(rank)}}.With(label, value);
  return VectorHistory::ColumnOf(labels, ends, std::move(values), std::move(steps));
}

JobLifePtr Job() {
  auto job = std::make_shared<JobOverview>();
  job->id = "j";
  job->first_ns = kTestStart;
  return job;
}

StepQuery Ask() {
  StepQuery query;
  query.job = Job();
  return query;
}

class Steps : public ::testing::Test {
 protected:
  void Add(VectorHistory::Column column) {
    history_.Edit("j", [&](auto* job) { job->columns.push_back(std::move(column)); });
  }
  // Adds durations for steps 0, 1, and 2, ending at 1, 2, and 3 s.
  void AddDurations(int rank, std::vector<double> seconds) {
    Add(StepColumn(kStepDuration, rank, "x", "", {1, 2, 3}, std::move(seconds), {0, 1, 2}));
  }
  void AddPhase(int rank, std::string_view phase, std::vector<double> seconds) {
    Add(StepColumn(kPhaseDuration, rank, "phase", phase, {1, 2, 3}, std::move(seconds), {0, 1, 2}));
  }
  VectorHistory history_;
};

// History that returns samples in 7 s parts and restarts reading once, after half of them.
class HistoryInParts : public VectorHistory {
 public:
  Status VisitStepWindows(const SampleQuery& query,
                          const std::function<Status(const StepWindows&)>& visit) const override {
    for (const int seconds : {700, 1400}) {
      const Parts parts(*this, query, seconds);
      RETURN_IF_ERROR(visit({&parts}));
    }
    return OkStatus();
  }

 private:
  struct Parts final : StepWindow {
    Parts(const History& of, const SampleQuery& asked, int end)
        : history(of), query(asked), seconds(end) {}
    Status Samples(
        const std::function<Status(const std::vector<SampleColumn>&)>& visit) const override {
      for (int second = 0; second < seconds; second += 7) {
        SampleQuery part = query;
        part.range = {AtSecond(second), AtSecond(second + 7)};
        ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history.Samples(part));
        if (!columns.empty()) RETURN_IF_ERROR(visit(columns));
      }
      return OkStatus();
    }
    const History& history;
    const SampleQuery& query;
    const int seconds;
  };
};

// A job with 20 ranks repeats steps 40 to 69 after a restart on other nodes, and one rank has a
// gap. Each cell is compared against its definition, both with all samples in one part and with
// samples in several parts.
TEST(StepHeatMaps, ReadingSamplesInParts_DoesNotChangeMap) {
  VectorHistory whole;
  HistoryInParts parts;
  constexpr int kRanks = 20;
  std::map<int64_t, std::map<int64_t, double>> durations;  // by step, then by rank
  for (int rank = 0; rank < kRanks; ++rank) {
    for (const int attempt : {0, 1}) {
      std::vector<double> ends, seconds, waits;
      std::vector<int64_t> steps;
      for (int step = attempt == 0 ? 0 : 40; step < (attempt == 0 ? 70 : 200); ++step) {
        if (rank == 3 && step % 10 == 7) continue;
        ends.push_back(5.0 * step + 0.01 * rank + (attempt == 0 ? 0 : 300));
        seconds.push_back(1 + 0.125 * ((step * 7 + rank * 13 + attempt) % 5));
        waits.push_back(0.0625 * ((step + rank) % 8));
        steps.push_back(step);
        durations[step][rank] = seconds.back() - waits.back();
      }
      for (VectorHistory* history : {&whole, static_cast<VectorHistory*>(&parts)}) {
        history->Edit("j", [&](auto* job) {
          job->columns.push_back(StepColumn(kStepDuration, rank, "node", attempt == 0 ? "b" : "a",
                                            ends, seconds, steps));
          job->columns.push_back(
              StepColumn(kPhaseDuration, rank, "phase", "collective", ends, waits, steps));
        });
      }
    }
  }
  for (const bool own : {false, true}) {
    const StepHeatMap right = *MakeStepHeatMap(whole, Ask(), 16, own);
    const StepHeatMap map = *MakeStepHeatMap(parts, Ask(), 16, own);
    EXPECT_EQ(map.own_time, own);
    EXPECT_EQ(map.bucket_steps, 16) << "whole blocks of steps";
    EXPECT_EQ(map.medians, right.medians);
    ASSERT_THAT(map.rows, SizeIs(kRanks));
    for (size_t r = 0; r < kRanks; ++r) {
      EXPECT_EQ(map.rows[r].rank, static_cast<int64_t>(r));
      EXPECT_EQ(map.rows[r].cells, right.rows[r].cells);
    }
    if (!own) continue;
    for (size_t column = 0; column < map.medians.size(); ++column) {
      std::map<int64_t, double> worst;
      for (int64_t step = map.from_step + static_cast<int64_t>(column) * 16;
           step < map.from_step + static_cast<int64_t>(column + 1) * 16; ++step) {
        if (!durations.contains(step)) continue;
        std::vector<double> values;
        for (const auto& [rank, value] : durations[step]) values.push_back(value);
        const double median = MedianOf(values);
        for (const auto& [rank, value] : durations[step])
          worst[rank] = std::max(worst[rank], value / median);
      }
      for (const auto& [rank, value] : worst)
        EXPECT_EQ(map.rows[static_cast<size_t>(rank)].cells[column], value) << rank;
    }
  }
}

TEST_F(Steps, TableContainsStartEndPhasesAndWait) {
  AddDurations(0, {0.5, 0.25, 0.5});
  AddDurations(1, {0.5, 0.5, 1});
  AddPhase(0, "forward", {0.25, 0.125, 0.25});
  AddPhase(0, "collective", {0.125, 0.0625, 0.125});
  AddPhase(1, "forward", {0.5, 0.5, 0.5});
  const StepTable table = *MakeStepTable(history_, Ask());
  EXPECT_THAT(table.phases, ElementsAre("collective", "forward"));
  ASSERT_THAT(table.rows, SizeIs(6));
  const StepRow& first = table.rows[0];
  EXPECT_EQ(first.step, 0);
  EXPECT_EQ(first.rank, 0);
  EXPECT_EQ(first.start_ns, AtSecond(0.5));
  EXPECT_EQ(first.end_ns, AtSecond(1));
  EXPECT_THAT(first.phases, ElementsAre(0.125, 0.25));
  EXPECT_EQ(first.wait, 0.125);
  const StepRow& last = table.rows[5];
  EXPECT_EQ(last.rank, 1);
  EXPECT_EQ(last.step, 2);
  EXPECT_EQ(last.start_ns, AtSecond(2));
  EXPECT_THAT(last.phases, ElementsAre(IsNan(), 0.5));
  EXPECT_THAT(last.wait, IsNan());
}

TEST_F(Steps, WaitIsMaximumOfSumsPerClock) {
  AddDurations(0, {1, 1, 1});
  AddPhase(0, "collective", {0.9, 0.9, 0.9});
  for (const auto& [group, clock, seconds] :
       {std::tuple("dp", "device", 0.25), {"tp", "device", 0.125}, {"dp", "host", 0.125}}) {
    const Labels labels = {
        {"__name__", kCollectiveTime}, {"rank", "0"}, {"group", group}, {"clock", clock}};
    Add(VectorHistory::ColumnOf(labels, {1}, {seconds}, {0}));
  }
  const StepTable table = *MakeStepTable(history_, Ask());
  EXPECT_EQ(table.rows[0].wait, 0.375);
  EXPECT_EQ(table.rows[1].wait, 0.9);
}

TEST_F(Steps, RepeatedStepHasTwoRows) {
  Add(StepColumn(kStepDuration, 0, "x", "", {1, 2, 12}, {1, 1, 2}, {0, 1, 1}));
  const StepTable table = *MakeStepTable(history_, Ask());
  ASSERT_THAT(table.rows, SizeIs(3));
  EXPECT_EQ(table.rows[1].end_ns, AtSecond(2));
  EXPECT_EQ(table.rows[2].end_ns, AtSecond(12));
}

TEST_F(Steps, QueryFiltersByRankStepAndMode) {
  AddDurations(0, {1, 1, 1});
  AddDurations(1, {2, 2, 2});
  AddDurations(11, {3, 3, 3});
  StepQuery query = Ask();
  query.ranks = {1, 11};
  query.from_step = 1;
  query.to_step = 2;
  const StepTable table = *MakeStepTable(history_, query);
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[0].duration, 2);
  EXPECT_EQ(table.rows[1].duration, 3);
  query.mode = "eval";
  EXPECT_THAT(MakeStepTable(history_, query)->rows, SizeIs(0));
}

TEST_F(Steps, PhaseTimesCoverOnlyLastSteps) {
  AddDurations(0, {9, 1, 1});
  AddDurations(1, {9, 1, 2});
  AddPhase(0, "forward", {9, 0.25, 0.5});
  AddPhase(0, "backward", {9, 0.75, 0.25});
  AddPhase(1, "forward", {9, 1, 1});
  const PhaseTimes times = *MakePhaseTimes(history_, Ask(), 2);
  EXPECT_EQ(times.from_step, 1);
  EXPECT_EQ(times.to_step, 3);
  EXPECT_EQ(times.steps, 2U);
  EXPECT_EQ(times.total, 5);
  ASSERT_THAT(times.phases, SizeIs(3));
  EXPECT_EQ(times.phases[0].phase, "forward");
  EXPECT_EQ(times.phases[0].seconds, 2.75);
  EXPECT_EQ(times.phases[0].share, 2.75 / 5);
  EXPECT_EQ(times.phases[1].phase, "other");  // 0.25 from rank 0 and 1 from rank 1
  EXPECT_EQ(times.phases[1].seconds, 1.25);
  EXPECT_EQ(times.phases[2].phase, "backward");
  double shares = 0;
  for (const PhaseTime& phase : times.phases) shares += phase.share;
  EXPECT_THAT(shares, DoubleNear(1, 1e-12));
  ASSERT_THAT(times.ranks, SizeIs(2));
  EXPECT_EQ(times.ranks[1].total, 3);
  EXPECT_EQ(times.ranks[1].seconds.at("other"), 1);
}

TEST_F(Steps, PhaseNamedOtherIncludesUnaccountedTime) {
  AddDurations(0, {9, 1, 2});
  AddPhase(0, "other", {9, 0.25, 0.5});
  AddPhase(0, "z", {9, 0.5, 0.5});
  AddDurations(1, {9, 1, 1});  // rank 1 reports no phases
  AddDurations(2, {9, 1, 1});
  AddPhase(2, "z", {9, 1, 1});  // rank 2 has no time left for "other"
  const PhaseTimes times = *MakePhaseTimes(history_, Ask(), 2);
  ASSERT_THAT(times.phases, SizeIs(2));
  EXPECT_EQ(times.phases[0].phase, "other");
  EXPECT_EQ(times.phases[0].seconds, 0.25 + 0.25 + 0.5 + 1 + 1 + 1);
  EXPECT_EQ(times.phases[1].seconds, 3);
  ASSERT_THAT(times.ranks, SizeIs(3));
  EXPECT_EQ(times.ranks[0].seconds.at("other"), 2);
  EXPECT_EQ(times.ranks[1].seconds.at("other"), 2);
  EXPECT_THAT(times.ranks[1].seconds, SizeIs(1));
  EXPECT_THAT(times.ranks[2].seconds, SizeIs(1));  // "other" is absent, not 0 seconds
}

TEST(StepMatrix, AddStepEqualsAddForEachRank) {
  const double nan = NormalNan();
  const std::vector<int64_t> ranks = {1, 3, 4, 9};
  const std::vector<std::pair<int64_t, std::vector<double>>> steps = {{7, {1, nan, nan, 4}},
                                                                      {2, {nan, nan, 3, 5}},
                                                                      {5, {nan, nan, nan, nan}},
                                                                      {7, {nan, 6, nan, 8}}};
  StepMatrix by_step, by_rank;
  for (const auto& [step, seconds] : steps) {
    ASSERT_TRUE(by_step.AddStep(step, ranks, seconds).ok());
    for (size_t r = 0; r < ranks.size(); ++r) {
      const std::vector<int64_t> one = {step};
      if (std::isnan(seconds[r])) continue;
      ASSERT_TRUE(by_rank.Add({ranks[r], one, std::span(seconds).subspan(r, 1)}).ok());
    }
  }
  EXPECT_FALSE(by_step.Has(5));
  EXPECT_EQ(by_step.Steps(), by_rank.Steps());
  ASSERT_EQ(by_step.ranks().size(), 4U);
  for (const auto& [rank, seconds] : by_rank.ranks()) {
    const std::vector<double>& same = by_step.ranks().at(rank);
    ASSERT_EQ(same.size(), seconds.size()) << rank;
    for (size_t i = 0; i < same.size(); ++i)
      EXPECT_TRUE(same[i] == seconds[i] || (std::isnan(same[i]) && std::isnan(seconds[i])));
  }
  EXPECT_EQ(by_step.ranks().at(9)[0], 8);  // the value is from the later run
}

TEST_F(Steps, BackwardSearchFindsLastSteps) {
  // The job has 2,000 steps of 1 s each. The first search covers only 60 s, which is too short for
  // the last 300 steps.
  std::vector<double> ends, seconds;
  std::vector<int64_t> steps;
  for (int i = 0; i < 2000; ++i) {
    ends.push_back(i + 1);
    seconds.push_back(1);
    steps.push_back(i);
  }
  Add(StepColumn(kStepDuration, 0, "x", "", ends, seconds, steps));
  const StepRange range = *FindLastSteps(history_, Ask(), 300);
  EXPECT_EQ(range.from_step, 1700);
  EXPECT_EQ(range.to_step, 2000);
  EXPECT_GT(range.range.from_ns, AtSecond(1000));
  EXPECT_EQ(FindLastSteps(history_, Ask(), 5000)->from_step, 0);
}

TEST_F(Steps, WhatIfTimeIsMaximumOverOtherRanks) {
  AddDurations(0, {1, 1.5, 1});
  AddDurations(1, {2, 1, 2});
  AddDurations(2, {1.25, 1, 1});
  // The maxima are 2, 1.5, and 2. Without rank 1, they are 1.25, 1.5, and 1.
  const WhatIf what = *MakeWhatIf(history_, Ask(), 1);
  ASSERT_TRUE(what.computable);
  EXPECT_FALSE(what.own_time);
  EXPECT_EQ(what.steps, 3U);
  EXPECT_THAT(what.with, DoubleNear(5.5 / 3, 1e-12));
  EXPECT_THAT(what.without, DoubleNear(3.75 / 3, 1e-12));
  // Removing a rank that was never the slowest changes nothing.
  const WhatIf same = *MakeWhatIf(history_, Ask(), 2);
  EXPECT_EQ(same.with, same.without);
}

TEST_F(Steps, WhatIfUsesOwnTimeIfAllWaitsAreKnown) {
  // In lockstep, every step takes 2 s on both ranks, because rank 0 waits while rank 1 computes.
  AddDurations(0, {2, 2, 2});
  AddDurations(1, {2, 2, 2});
  AddPhase(0, "collective", {1, 1, 1});
  AddPhase(1, "collective", {0.25, 0.25, 0.25});
  const WhatIf what = *MakeWhatIf(history_, Ask(), 1);
  EXPECT_TRUE(what.own_time);
  EXPECT_EQ(what.with, 1.75);
  EXPECT_EQ(what.without, 1);
}

TEST_F(Steps, WhatIfReportsReasonIfUnavailable) {
  AddDurations(0, {1, 1, 1});
  WhatIf what = *MakeWhatIf(history_, Ask(), 0);
  EXPECT_FALSE(what.computable);
  EXPECT_THAT(what.reason, HasSubstr("one rank"));
  what = *MakeWhatIf(history_, Ask(), 5);
  EXPECT_FALSE(what.computable);
  EXPECT_THAT(what.reason, HasSubstr("no steps of rank 5"));
  // Only rank 1 reports step 7, so no step is reported by both ranks.
  Add(StepColumn(kStepDuration, 1, "x", "", {8}, {1}, {7}));
  what = *MakeWhatIf(history_, Ask(), 1);
  EXPECT_FALSE(what.computable);
  EXPECT_EQ(what.left_out, 4U);
  EXPECT_THAT(what.reason, HasSubstr("no step has data from all 2 ranks"));
}

TEST(OperatorRanking, ReturnsSharesAndTotals) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    const auto add = [&](int64_t rank, std::string name, int64_t from, int64_t ns) {
      job->spans.push_back({"s",
                            "n",
                            rank,
                            {Span::Kind::kOperator, std::move(name), EventTime::FromNs(from),
                             EventTime::FromNs(from + ns), 0, "train"}});
    };
    add(0, "conv", 10, 300);
    add(0, "conv", 400, 100);
    add(1, "conv", 10, 200);
    add(0, "relu", 700, 100);
    add(1, "copy", 700, 300);
    job->spans.push_back(
        {"s", "n", 0, {Span::Kind::kStep, "", EventTime(), EventTime::FromNs(1000), 0, "train"}});
  });
  SpanQuery query;
  query.job = "j";
  query.kinds = {Span::Kind::kOperator};
  const OperatorRanking ranking = *RankOperators(history, query, 2);
  EXPECT_EQ(ranking.total_ns, 1000);
  EXPECT_EQ(ranking.left_out, 1U);
  ASSERT_THAT(ranking.operators, SizeIs(2));
  EXPECT_EQ(ranking.operators[0].total.name, "conv");
  EXPECT_EQ(ranking.operators[0].total.count, 3U);
  EXPECT_EQ(ranking.operators[0].total.total_ns, 600);
  EXPECT_EQ(ranking.operators[0].total.min_ns, 100);
  EXPECT_EQ(ranking.operators[0].total.max_ns, 300);
  EXPECT_EQ(ranking.operators[0].share, 0.6);
  EXPECT_EQ(ranking.operators[1].total.name, "copy");
}

TEST(TensorTable, ReturnsNewestStatisticsPerTensor) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    const auto add = [&](std::string_view metric, std::string_view tensor,
                         std::vector<double> values, std::string_view le = "") {
      const Labels labels = Labels{
          {"__name__", metric},
          {"rank", "0"},
          {"mode", "train"},
          {"tensor", tensor},
          {"collection",
           "weights"}}.With("le", le);
      job->columns.push_back(
          VectorHistory::ColumnOf(labels, {1, 2}, std::move(values), {100, 200}));
    };
    add("train_tensor_mean", "w1", {1, 2});
    add("train_tensor_std", "w1", {3, std::nan("")});
    add("train_tensor_mean", "w2", {5, 6});
    add("train_tensor_histogram_bucket", "w1", {7, 8}, "0.5");
  });
  TensorQuery query;
  query.job = Job();
  const auto rows = *MakeTensorTable(history, query);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].tensor, "w1");
  EXPECT_EQ(rows[0].step, 200);
  EXPECT_EQ(rows[0].statistics.at("mean"), 2);
  EXPECT_THAT(rows[0].statistics.at("std"), IsNan());
  EXPECT_THAT(rows[0].statistics, SizeIs(2));
  query.to_step = 200;
  query.name = "w2";
  const auto before = *MakeTensorTable(history, query);
  ASSERT_THAT(before, SizeIs(1));
  EXPECT_EQ(before[0].step, 100);
  EXPECT_EQ(before[0].statistics.at("mean"), 5);
}

}  // namespace
}  // namespace pitwall::history
