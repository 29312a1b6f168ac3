#include "services/history/views/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "services/base/text/strings.h"
#include "services/history/testing/vector_history.h"
#include "services/history/views/steps/buckets.h"
#include "services/history/views/steps/heat_map.h"
#include "services/history/views/steps/selectors.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::SizeIs;

JobLifePtr JobFrom(double first_s, double last_s) {
  auto job = std::make_shared<JobOverview>();
  job->id = "j";
  job->first_ns = AtSecond(first_s);
  job->last_ns = AtSecond(last_s);
  return job;
}

// Returns one value per second: s % 10 at second s, except 100 at second 37.
VectorHistory::Column Saw(int seconds) {
  std::vector<double> times, values;
  for (int s = 0; s < seconds; ++s) {
    times.push_back(s);
    values.push_back(s == 37 ? 100 : s % 10);
  }
  return VectorHistory::ColumnOf({{"__name__", "saw"}}, times, values);
}

struct Drawn {
  double second, min, max, last;
  friend bool operator==(const Drawn& a, const Drawn& b) {
    const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return same(a.second, b.second) && same(a.min, b.min) && same(a.max, b.max) &&
           same(a.last, b.last);
  }
};
std::ostream& operator<<(std::ostream& out, const Drawn& d) {
  return out << "{" << d.second << ", " << d.min << ", " << d.max << ", " << d.last << "}";
}
std::vector<Drawn> DrawnOf(const ChartColumn& column, bool by_step = false) {
  std::vector<Drawn> out;
  for (const ChartRow& row : column.rows) {
    out.push_back(
        {by_step ? static_cast<double>(row.at) : static_cast<double>(row.at - kTestStart) / 1e9,
         row.min, row.max, row.last});
  }
  return out;
}

ChartQuery Ask(JobLifePtr job, double from_s, double to_s, size_t width) {
  ChartQuery query;
  query.job = std::move(job);
  query.range = {AtSecond(from_s), AtSecond(to_s)};
  query.width = width;
  return query;
}

TEST(Chart, FewSamplesAreReturnedUnchanged) {
  VectorHistory history;
  history.Edit("j", [](auto* job) { job->columns = {Saw(5)}; });
  const Chart chart = *MakeChart(history, Ask(JobFrom(0, 4), 1, 4, 10));
  EXPECT_EQ(chart.bucket, 0);
  EXPECT_FALSE(chart.tier.has_value());
  ASSERT_THAT(chart.columns, SizeIs(1));
  EXPECT_THAT(DrawnOf(chart.columns[0]),
              ElementsAre(Drawn{1, 1, 1, 1}, Drawn{2, 2, 2, 2}, Drawn{3, 3, 3, 3}));
}

TEST(Chart, DownsamplingKeepsSpike) {
  VectorHistory history;
  history.Edit("j", [](auto* job) { job->columns = {Saw(60)}; });
  // Fitting 60 samples into 10 pixels yields 6 s buckets.
  const Chart chart = *MakeChart(history, Ask(JobFrom(0, 59), 0, 60, 10));
  EXPECT_EQ(chart.bucket, 6 * kNanosPerSecond);
  EXPECT_FALSE(chart.tier.has_value());
  ASSERT_THAT(chart.columns[0].rows, SizeIs(10));
  const auto drawn = DrawnOf(chart.columns[0]);
  EXPECT_EQ(drawn[0], (Drawn{0, 0, 5, 5}));
  EXPECT_EQ(drawn[1], (Drawn{6, 0, 9, 1}));     // the values are 6 7 8 9 0 1
  EXPECT_EQ(drawn[6], (Drawn{36, 0, 100, 1}));  // the values are 6 100 8 9 0 1
}

TEST(Chart, UsesCoarsestTierWithOneRowPerPixel) {
  VectorHistory history;
  history.Edit("j", [](auto* job) { job->columns = {Saw(3600)}; });
  const JobLifePtr job = JobFrom(0, 3599);
  // For a range of 3,600 s, the source of the data depends on the width: 3,600 pixels use raw
  // samples, 360 use 10-second rows, 100 use buckets of four such rows, and 60 or fewer use
  // 2-minute rows.
  EXPECT_FALSE(MakeChart(history, Ask(job, 0, 3600, 3600))->tier.has_value());
  EXPECT_EQ(MakeChart(history, Ask(job, 0, 3600, 361))->tier, std::nullopt);
  const Chart ten = *MakeChart(history, Ask(job, 0, 3600, 360));
  EXPECT_EQ(ten.tier, 0U);
  EXPECT_EQ(ten.bucket, 10 * kNanosPerSecond);
  const Chart forty = *MakeChart(history, Ask(job, 0, 3600, 100));
  EXPECT_EQ(forty.tier, 0U);
  EXPECT_EQ(forty.bucket, 40 * kNanosPerSecond);
  EXPECT_EQ(DrawnOf(forty.columns[0])[0], (Drawn{0, 0, 100, 9}));
  EXPECT_EQ(DrawnOf(forty.columns[0])[1], (Drawn{40, 0, 9, 9}));
  // The 2-minute tier is stored, so one row per two pixels suffices.
  EXPECT_EQ(MakeChart(history, Ask(job, 0, 3600, 61))->tier, 0U);
  EXPECT_EQ(MakeChart(history, Ask(job, 0, 3600, 60))->tier, 1U);
  const Chart two_minutes = *MakeChart(history, Ask(job, 0, 3600, 30));
  EXPECT_EQ(two_minutes.tier, 1U);
  EXPECT_THAT(two_minutes.columns[0].rows, SizeIs(30));
}

TEST(Chart, RowsExceedWidthByAtMostOne) {
  VectorHistory history;
  history.Edit("j", [](auto* job) { job->columns = {Saw(4000)}; });
  for (const size_t width : {1U, 2U, 7U, 100U, 333U, 1000U}) {
    for (const double from_s : {0.0, 1.0, 17.5, 3333.3}) {
      ChartQuery query = Ask(JobFrom(0, 3999), from_s, 3999.9, width);
      const Chart chart = *MakeChart(history, query);
      EXPECT_LE(chart.columns[0].rows.size(), width + 1) << width << " " << from_s;
      if (chart.bucket == 0) continue;
      EXPECT_EQ(chart.from % chart.bucket, 0);
      EXPECT_EQ(chart.to % chart.bucket, 0);
      EXPECT_LE(chart.from, query.range.from_ns);
      EXPECT_GE(chart.to, query.range.to_ns);
      EXPECT_EQ(chart.tier ? chart.bucket % kTiers[*chart.tier] : 0, 0);
    }
  }
}

TEST(Chart, PanningKeepsBuckets) {
  VectorHistory history;
  history.Edit("j", [](auto* job) { job->columns = {Saw(3600)}; });
  const Chart a = *MakeChart(history, Ask(JobFrom(0, 3599), 0, 1000, 50));
  const Chart b = *MakeChart(history, Ask(JobFrom(0, 3599), 5, 1005, 50));
  ASSERT_EQ(a.bucket, b.bucket);
  const auto drawn_a = DrawnOf(a.columns[0]), drawn_b = DrawnOf(b.columns[0]);
  for (size_t i = 1; i + 1 < drawn_a.size(); ++i)
    EXPECT_THAT(drawn_b, ::testing::Contains(drawn_a[i]));
}

TEST(Chart, DroppedRawSamples_ReadsRollups) {
  VectorHistory history;
  history.Edit("j", [](auto* job) { job->columns = {Saw(100)}; });
  auto job = std::make_shared<JobOverview>(*JobFrom(0, 99));
  job->raw_from_ns = AtSecond(50);
  EXPECT_EQ(MakeChart(history, Ask(job, 0, 40, 800))->tier, 0U);
  EXPECT_EQ(MakeChart(history, Ask(job, 60, 90, 800))->tier, std::nullopt);
}

// Tests a response with the maximum number of values, and then a response with one more line.
TEST(Chart, ManyLinesUseTwoMinuteRows) {
  constexpr int kSeconds = 2400;
  constexpr auto kFew = static_cast<int>(kMaxNumbers / 80);  // number of lines with 80 buckets each
  VectorHistory history;
  const auto fill = [&](int lines) {
    history.Edit("j", [&](auto* job) {
      job->columns.clear();
      for (int line = 0; line < lines; ++line) {
        std::vector<double> times, values;
        for (int s = 0; s < kSeconds; s += 15) {
          times.push_back(s);
          values.push_back(s * 31 % 101 + line);
        }
        job->columns.push_back(
            VectorHistory::ColumnOf({{"__name__", "m"}, {"line", Cat(line)}}, times, values));
      }
    });
  };
  const JobLifePtr job = JobFrom(0, kSeconds - 1);
  const auto heat = [&](double to_s) {
    const BucketQuery query = {
        {"j", {SelectorOfMetric("m")}, {kTestStart, AtSecond(to_s)}, {}}, 100, 0};
    return *MakeHeatMap(history, query, HeatValue::kMax);
  };
  fill(kFew);
  EXPECT_EQ(MakeChart(history, Ask(job, 0, kSeconds, 100))->tier, 0U);
  EXPECT_EQ(heat(kSeconds).grid.tier, 0U);
  fill(kFew + 100);
  // Ranges shorter than half an hour keep their resolution.
  EXPECT_EQ(MakeChart(history, Ask(job, 0, 1200, 100))->tier, 0U);
  EXPECT_EQ(heat(1200).grid.tier, 0U);
  const Chart chart = *MakeChart(history, Ask(job, 0, kSeconds, 100));
  EXPECT_EQ(chart.tier, 1U);
  EXPECT_EQ(chart.bucket, kTiers[1]);
  ASSERT_EQ(chart.columns.size(), kFew + 100U);
  const HeatMap map = heat(kSeconds);
  EXPECT_EQ(map.grid.tier, 1U);
  for (const size_t line : {0U, 1U, 3199U}) {
    const int number = static_cast<int>(*ParseInt(chart.columns[line].labels.Get("line")));
    std::vector<Drawn> expected;
    for (int s = 0; s < kSeconds; s += 120) {
      Drawn drawn{static_cast<double>(s), 1e9, -1e9, 0};
      for (int of = s; of < s + 120; of += 15) {
        const double value = of * 31 % 101 + number;
        drawn.min = std::min(drawn.min, value);
        drawn.max = std::max(drawn.max, value);
        drawn.last = value;
      }
      expected.push_back(drawn);
    }
    EXPECT_EQ(DrawnOf(chart.columns[line]), expected);
    const auto row = std::find_if(map.rows.begin(), map.rows.end(), [&](const HeatMapRow& r) {
      return r.labels == chart.columns[line].labels;
    });
    ASSERT_NE(row, map.rows.end());
    ASSERT_EQ(row->cells.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(row->cells[i], expected[i].max);
  }
}

TEST(Chart, MissingSamplesLeaveGap) {
  VectorHistory history;
  // Samples are one second apart, except between seconds 3 and 10. Three times the usual interval
  // (10 to 13) does not count as a gap.
  history.Edit("j", [](auto* job) {
    job->columns = {VectorHistory::ColumnOf({{"__name__", "m"}}, {0, 1, 2, 3, 10, 13, 14, 15},
                                            {1, 1, 1, 1, 2, 2, 2, 2})};
  });
  const Chart chart = *MakeChart(history, Ask(JobFrom(0, 15), 0, 16, 800));
  const double nan = NormalNan();
  EXPECT_THAT(DrawnOf(chart.columns[0]),
              ElementsAre(Drawn{0, 1, 1, 1}, Drawn{1, 1, 1, 1}, Drawn{2, 1, 1, 1},
                          Drawn{3, 1, 1, 1}, Drawn{4, nan, nan, nan}, Drawn{10, 2, 2, 2},
                          Drawn{13, 2, 2, 2}, Drawn{14, 2, 2, 2}, Drawn{15, 2, 2, 2}));
}

TEST(Chart, NewAttemptBreaksLine) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    job->columns = {VectorHistory::ColumnOf({{"__name__", "m"}}, {0, 1, 2, 3}, {1, 2, 3, 4})};
  });
  auto job = std::make_shared<JobOverview>(*JobFrom(0, 3));
  job->attempts = {{.attempt = 1, .began_ns = AtSecond(0)},
                   {.attempt = 2, .began_ns = AtSecond(1.5)}};
  const Chart chart = *MakeChart(history, Ask(job, 0, 4, 800));
  const double nan = NormalNan();
  EXPECT_THAT(DrawnOf(chart.columns[0]),
              ElementsAre(Drawn{0, 1, 1, 1}, Drawn{1, 2, 2, 2}, Drawn{1.5, nan, nan, nan},
                          Drawn{2, 3, 3, 3}, Drawn{3, 4, 4, 4}));
}

TEST(Chart, NanIsGapButInfinityIsNot) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    job->columns = {
        VectorHistory::ColumnOf({{"__name__", "m"}}, {0, 1, 2}, {1, std::nan(""), INFINITY})};
  });
  const Chart chart = *MakeChart(history, Ask(JobFrom(0, 2), 0, 3, 800));
  const double nan = NormalNan();
  EXPECT_THAT(DrawnOf(chart.columns[0]), ElementsAre(Drawn{0, 1, 1, 1}, Drawn{1, nan, nan, nan},
                                                     Drawn{2, INFINITY, INFINITY, INFINITY}));
}

TEST(Chart, ByStep_UsesLaterRunOfRepeatedStep) {
  VectorHistory history;
  // The second attempt repeats step 2, so the second run of that step is used.
  history.Edit("j", [](auto* job) {
    job->columns = {VectorHistory::ColumnOf({{"__name__", "loss"}}, {0, 1, 2, 10, 11, 12},
                                            {9, 8, 7, 70, 60, 50}, {0, 1, 2, 2, 3, 4})};
  });
  ChartQuery query = Ask(JobFrom(0, 12), 0, 13, 800);
  query.by_step = true;
  query.mode = "train";
  const Chart all = *MakeChart(history, query);
  EXPECT_THAT(DrawnOf(all.columns[0], true),
              ElementsAre(Drawn{0, 9, 9, 9}, Drawn{1, 8, 8, 8}, Drawn{2, 70, 70, 70},
                          Drawn{3, 60, 60, 60}, Drawn{4, 50, 50, 50}));
  EXPECT_EQ(all.from, 0);
  EXPECT_EQ(all.to, 5);
  query.width = 2;
  const Chart reduced = *MakeChart(history, query);
  EXPECT_EQ(reduced.bucket, 3);
  EXPECT_THAT(DrawnOf(reduced.columns[0], true),
              ElementsAre(Drawn{0, 8, 70, 70}, Drawn{3, 50, 60, 50}));
  query.mode = "eval";
  EXPECT_THAT(MakeChart(history, query)->columns, SizeIs(0));
}

TEST(HeatMap, CellsAreMeansInNaturalLabelOrder) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    for (const char* gpu : {"10", "2"}) {
      job->columns.push_back(VectorHistory::ColumnOf({{"__name__", "util"}, {"gpu", gpu}},
                                                     {0, 1, 2, 3, 6}, {0.25, 0.75, 1, 0, 0.5}));
    }
  });
  BucketQuery query;
  query.series.job = "j";
  query.series.range = {AtSecond(0), AtSecond(8)};
  query.width = 4;
  const HeatMap map = *MakeHeatMap(history, query, HeatValue::kMean);
  ASSERT_THAT(map.rows, SizeIs(2));
  EXPECT_EQ(map.rows[0].labels.Get("gpu"), "2");
  EXPECT_EQ(map.rows[1].labels.Get("gpu"), "10");
  EXPECT_THAT(map.rows[0].cells, ElementsAre(0.5, 0.5, ::testing::IsNan(), 0.5));
  EXPECT_THAT(MakeHeatMap(history, query, HeatValue::kMax)->rows[0].cells,
              ElementsAre(0.75, 1, ::testing::IsNan(), 0.5));
  EXPECT_THAT(MakeHeatMap(history, query, HeatValue::kMin)->rows[0].cells,
              ElementsAre(0.25, 0, ::testing::IsNan(), 0.5));
  EXPECT_THAT(MakeHeatMap(history, query, HeatValue::kLast)->rows[0].cells,
              ElementsAre(0.75, 0, ::testing::IsNan(), 0.5));
}

TEST(StepHeatMap, CellIsSlowdownRelativeToMedian) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    const auto add = [&](const char* rank, std::vector<double> seconds) {
      job->columns.push_back(
          VectorHistory::ColumnOf({{"__name__", "train_step_duration_seconds"}, {"rank", rank}},
                                  {1, 2, 3, 4}, seconds, {0, 1, 2, 3}));
    };
    add("0", {1, 2, 1, 1});
    add("1", {1, 2, 1, 1});
    add("10", {2, 2, 1, 3});
  });
  StepQuery query;
  auto life = std::make_shared<JobOverview>();
  life->id = "j";
  life->sources["s"] = {.source = "s", .node = "n7", .rank = 10};
  query.job = life;
  const StepHeatMap map = *MakeStepHeatMap(history, query, 10);
  EXPECT_EQ(map.bucket_steps, 1);
  EXPECT_THAT(map.medians, ElementsAre(1, 2, 1, 1));
  ASSERT_THAT(map.rows, SizeIs(3));
  EXPECT_EQ(map.rows[2].rank, 10);
  EXPECT_EQ(map.rows[2].node, "n7");
  EXPECT_THAT(map.rows[2].cells, ElementsAre(2, 1, 1, 3));
  EXPECT_THAT(map.rows[0].cells, ElementsAre(1, 1, 1, 1));
  const StepHeatMap narrow = *MakeStepHeatMap(history, query, 2);
  EXPECT_EQ(narrow.bucket_steps, 2);
  EXPECT_THAT(narrow.rows[2].cells, ElementsAre(2, 3));
  EXPECT_THAT(narrow.medians, ElementsAre(1.5, 1));
}

TEST(StepHeatMap, OwnTimeIdentifiesSlowRank) {
  VectorHistory history;
  const auto add = [&](std::string_view metric, const char* rank, std::vector<double> seconds) {
    history.Edit("j", [&](auto* job) {
      job->columns.push_back(
          VectorHistory::ColumnOf({{"__name__", metric}, {"rank", rank}, {"phase", "collective"}},
                                  {1, 2}, seconds, {0, 1}));
    });
  };
  StepQuery query;
  auto life = std::make_shared<JobOverview>();
  life->id = "j";
  query.job = life;
  for (const char* rank : {"0", "1", "2"}) add(kStepDuration, rank, {1, 1});
  add(kPhaseDuration, "0", {0.5, 0.75});
  add(kPhaseDuration, "1", {0, 0});
  EXPECT_FALSE(MakeStepHeatMap(history, query, 10, true)->own_time) << "rank 2 reports no wait";
  add(kPhaseDuration, "2", {0.5, 0.5});
  const StepHeatMap map = *MakeStepHeatMap(history, query, 10, true);
  EXPECT_TRUE(map.own_time);
  EXPECT_THAT(map.medians, ElementsAre(0.5, 0.5));
  EXPECT_THAT(map.rows[0].cells, ElementsAre(1, 0.5));
  EXPECT_THAT(map.rows[1].cells, ElementsAre(2, 2));
  EXPECT_THAT(MakeStepHeatMap(history, query, 10)->rows[1].cells, ElementsAre(1, 1));
  query.range.from_ns = kTestStart + 1'500'000'000;
  EXPECT_EQ(MakeStepHeatMap(history, query, 10)->from_step, 1);
}

}  // namespace
}  // namespace pitwall::history
