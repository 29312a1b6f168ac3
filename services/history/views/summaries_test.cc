// Tests for the job summary, resource table, period comparison, and natural order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "services/base/text/strings.h"
#include "services/history/testing/vector_history.h"
#include "services/history/views/job_summary.h"
#include "services/history/views/period_comparison.h"
#include "services/history/views/resource_table.h"
#include "services/history/views/steps/natural_order.h"
#include "services/history/views/steps/selectors.h"
#include "services/history/views/steps/statistics.h"

namespace pitwall::history {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::SizeIs;

int64_t SumOf(const PartLengths& parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t{0});
}

AttemptLife Attempt(uint64_t number, double began, double ended, double first, double last) {
  const auto at = [](double s) { return s < 0 ? 0 : AtSecond(s); };
  AttemptLife out;
  out.attempt = number;
  out.began_ns = at(began);
  out.ended_ns = at(ended);
  out.first_step_ns = at(first);
  out.last_step_ns = at(last);
  return out;
}

JobOverview EndedJob(double start, double end) {
  JobOverview job;
  job.id = "j";
  job.started_ns = AtSecond(start);
  job.ended_ns = AtSecond(end);
  job.first_ns = AtSecond(start);
  job.last_ns = AtSecond(end);
  return job;
}

TEST(JobSummary, SingleAttempt_IsSplitIntoParts) {
  JobOverview job = EndedJob(0, 100);
  job.attempts = {Attempt(1, 0, 100, 30, 90)};
  const JobSummary summary = Summarize(job);
  EXPECT_THAT(summary.parts_ns,
              ElementsAre(30 * kNanosPerSecond, 60 * kNanosPerSecond, 10 * kNanosPerSecond, 0));
  ASSERT_THAT(summary.attempts, SizeIs(1));
  EXPECT_EQ(summary.attempts[0].loop_begin_ns, AtSecond(30));
  EXPECT_EQ(summary.attempts[0].loop_end_ns, AtSecond(90));
}

TEST(JobSummary, StepBeforeReportedStartBelongsToLoop) {
  JobOverview job = EndedJob(10, 200);
  job.attempts = {Attempt(1, 10, 60, 9, 50), Attempt(2, 80, 190, 79, 180)};
  const JobSummary summary = Summarize(job);
  EXPECT_EQ(summary.begin_ns, AtSecond(9));
  ASSERT_THAT(summary.attempts, SizeIs(2));
  EXPECT_EQ(summary.attempts[0].loop_begin_ns, AtSecond(9));
  EXPECT_EQ(summary.attempts[1].begin_ns, AtSecond(79));
  EXPECT_EQ(summary.attempts[1].loop_begin_ns, AtSecond(79));
  EXPECT_THAT(summary.parts_ns,
              ElementsAre(0, (41 + 101) * kNanosPerSecond, (10 + 10 + 10) * kNanosPerSecond,
                          19 * kNanosPerSecond));
  EXPECT_EQ(SumOf(summary.parts_ns), 191 * kNanosPerSecond);
}

TEST(JobSummary, TimeBetweenAttemptsIsSeparatePart) {
  JobOverview job = EndedJob(0, 200);
  job.attempts = {Attempt(1, 10, 60, 20, 50), Attempt(2, 80, 190, -1, -1)};
  const JobSummary summary = Summarize(job);
  // Initialization lasts 10 s before the first attempt, 10 s in the first attempt, and 110 s in the
  // second attempt, which has no steps. 20 s pass between the attempts.
  EXPECT_THAT(summary.parts_ns, ElementsAre(130 * kNanosPerSecond, 30 * kNanosPerSecond,
                                            20 * kNanosPerSecond, 20 * kNanosPerSecond));
  EXPECT_EQ(SumOf(summary.parts_ns), 200 * kNanosPerSecond);
}

TEST(JobSummary, CompletedJobEndsWithLastGoodbye) {
  JobOverview job = EndedJob(0, 100);
  job.end_detail = EndDetail::kCompleted;
  job.attempts = {Attempt(1, 0, 100, 30, 90)};
  const auto rank = [&](int64_t number, double last, double goodbye) {
    SourceLife& source = job.sources[Cat("rank-", number)];
    source.rank = number;
    source.last_ns = AtSecond(last);
    source.goodbye = goodbye > 0;
    source.goodbye_ns = goodbye > 0 ? AtSecond(goodbye) : 0;
  };
  rank(0, 90, 94);
  rank(1, 90, 95);
  SourceLife& node = job.sources["node"];  // the node's collector continues
  node.last_ns = AtSecond(100);
  EXPECT_THAT(Summarize(job).parts_ns,
              ElementsAre(30 * kNanosPerSecond, 60 * kNanosPerSecond, 5 * kNanosPerSecond, 0));
  EXPECT_EQ(Summarize(job).attempts[0].end_ns, AtSecond(95));
  job.ended_ns = AtSecond(93);  // no part extends past the reported end
  EXPECT_EQ(Summarize(job).end_ns, AtSecond(93));
  job.ended_ns = AtSecond(100);
  rank(1, 90, 0);  // one rank is silent, so its end is unknown
  EXPECT_EQ(Summarize(job).end_ns, AtSecond(100));
  rank(1, 90, 95);
  job.end_detail = EndDetail::kDied;
  EXPECT_EQ(Summarize(job).end_ns, AtSecond(100));
  // finish("failed") also sends a goodbye, so the grace period for returning ranks is not part of
  // the job.
  job.end_detail = EndDetail::kFailed;
  EXPECT_EQ(Summarize(job).end_ns, AtSecond(95));
  rank(1, 90, 0);  // one rank died, so the end of the attempt is used
  job.attempts[0].ended_ns = AtSecond(97);
  EXPECT_EQ(Summarize(job).end_ns, AtSecond(97));
}

TEST(JobSummary, JobWithDeadRanks_EndsWithLastAttempt) {
  // The job waited for a restart that never happened. No rank ran or finalized during that time.
  JobOverview job = EndedJob(0, 160);
  job.end_detail = EndDetail::kDied;
  job.attempts = {Attempt(1, 0, 40, 30, 39)};
  const JobSummary summary = Summarize(job);
  EXPECT_EQ(summary.end_ns, AtSecond(40));
  EXPECT_THAT(summary.parts_ns,
              ElementsAre(30 * kNanosPerSecond, 9 * kNanosPerSecond, 1 * kNanosPerSecond, 0));
  // If an attempt was cut off, the time after its last step belongs to an unfinished step.
  job.attempts[0].end_detail = EndDetail::kDied;
  EXPECT_THAT(Summarize(job).parts_ns,
              ElementsAre(30 * kNanosPerSecond, 10 * kNanosPerSecond, 0, 0));
  job.attempts[0].ended_ns = 0;  // the attempt's end is unknown
  EXPECT_EQ(Summarize(job).end_ns, AtSecond(160));
}

TEST(JobSummary, RunningJobHasNoFinalization) {
  JobOverview job = EndedJob(0, 0);
  job.ended_ns = 0;
  job.last_ns = AtSecond(50);
  job.attempts = {Attempt(1, 0, -1, 20, 45)};
  EXPECT_THAT(Summarize(job).parts_ns,
              ElementsAre(20 * kNanosPerSecond, 30 * kNanosPerSecond, 0, 0));
}

TEST(JobSummary, PartsCoverJobWithoutOverlapForAnyInput) {
  std::mt19937 random(7);
  const auto second = [&] { return static_cast<double>(random() % 200) - 20; };
  for (int i = 0; i < 5000; ++i) {
    JobOverview job = EndedJob(20, 20 + static_cast<double>(random() % 100));
    if (random() % 2 == 0) job.ended_ns = 0;
    const unsigned count = random() % 4;
    for (unsigned a = 0; a < count; ++a)
      job.attempts.push_back(Attempt(a + 1, second(), second(), second(), second()));
    const JobSummary summary = Summarize(job);
    ASSERT_EQ(SumOf(summary.parts_ns), summary.end_ns - summary.begin_ns) << i;
    for (const int64_t part : summary.parts_ns) ASSERT_GE(part, 0) << i;
    for (const AttemptSummary& attempt : summary.attempts)
      ASSERT_EQ(SumOf(attempt.parts_ns), attempt.end_ns - attempt.begin_ns) << i;
  }
}

// Percentiles are computed from a node's derived means if they exist, and otherwise from the
// samples of its cores.
TEST(ResourceTable, CpuPercentilesUseNodeMeans) {
  VectorHistory history;
  JobOverview life;
  history.Edit("j", [&](auto* job) {
    std::vector<double> seconds, busy;
    for (int i = 0; i < 20; ++i) {
      seconds.push_back(1 + i * 0.5);
      busy.push_back(i == 7 ? 1 : 0.25);  // 10-second means would hide this peak
    }
    job->columns.push_back(VectorHistory::ColumnOf(
        {{"__name__", "node_cpu_utilization_mean_ratio"}, {"node", "new"}}, seconds, busy));
    for (const char* node : {"new", "old"}) {
      job->columns.push_back(VectorHistory::ColumnOf({{"__name__", "system_cpu_utilization_ratio"},
                                                      {"node", node},
                                                      {"cpu", "0"},
                                                      {"mode", "idle"}},
                                                     {1, 6}, {0.5, 0.5}));
      job->life.sources[node] = {.source = node, .node = node};
    }
    job->life.first_ns = AtSecond(0);
    job->life.last_ns = AtSecond(12);
    life = job->life;
  });
  const auto rows = *MakeResourceTable(history, life, {AtSecond(0), AtSecond(30)}, {});
  std::map<std::string, ResourceRow> cpu;
  for (const ResourceRow& row : rows) {
    if (row.resource == "cpu") cpu[row.node] = row;
  }
  ASSERT_THAT(cpu, SizeIs(2));
  EXPECT_EQ(cpu["new"].basis, "samples");
  EXPECT_EQ(cpu["new"].count, 20U);
  EXPECT_THAT(cpu["new"].max, DoubleNear(1, 0.001));
  EXPECT_THAT(cpu["new"].p50, DoubleNear(0.25, 0.001));
  EXPECT_EQ(cpu["old"].basis, "10s");
  EXPECT_THAT(cpu["old"].max, DoubleNear(0.5, 1e-12));
}

TEST(ResourceTable, ReportsCpuNetworkAndGpuUsage) {
  VectorHistory history;
  JobOverview life;
  history.Edit("j", [&](auto* job) {
    const auto cpu = [&](const char* core, const char* mode, std::vector<double> values) {
      job->columns.push_back(VectorHistory::ColumnOf({{"__name__", "system_cpu_utilization_ratio"},
                                                      {"node", "n"},
                                                      {"cpu", core},
                                                      {"mode", mode}},
                                                     {1, 6, 11, 16}, std::move(values)));
    };
    cpu("0", "idle", {0.5, 0.5, 0.25, 0.25});
    cpu("1", "idle", {0.5, 0.5, 0.75, 0.75});
    cpu("0", "iowait", {0.25, 0.25, 0, 0});
    cpu("1", "iowait", {0, 0, 0, 0});
    cpu("0", "user", {9, 9, 9, 9});  // excluded by the query
    const auto net = [&](const char* device, std::vector<double> values) {
      job->columns.push_back(VectorHistory::ColumnOf({{"__name__", "system_network_io_bytes_total"},
                                                      {"node", "n"},
                                                      {"device", device},
                                                      {"direction", "receive"}},
                                                     {1, 11, 21}, std::move(values)));
    };
    net("eth0", {100, 1100, 300});  // counter reset
    net("eth1", {0, 100, 200});
    net("lo", {0, 1e9, 2e9});
    for (const char* gpu : {"0", "1"}) {
      job->columns.push_back(VectorHistory::ColumnOf(
          {{"__name__", "hw_gpu_utilization_ratio"}, {"node", "n"}, {"gpu", gpu}}, {1, 2},
          {gpu[0] == '0' ? 0.1 : 0.3, gpu[0] == '0' ? 0.2 : 0.4}));
    }
    job->life.first_ns = AtSecond(0);
    job->life.last_ns = AtSecond(21);
    life = job->life;
  });
  const auto rows = *MakeResourceTable(history, life, {AtSecond(0), AtSecond(30)}, {});
  std::map<std::string, ResourceRow> by_name;
  for (const ResourceRow& row : rows) by_name[row.resource] = row;
  ASSERT_THAT(by_name, SizeIs(4));
  // There are two 10-second rows, with idle ratios of 0.5 and 0.5 and I/O wait ratios of 0.125 and
  // 0.
  const ResourceRow& cpu = by_name.at("cpu");
  EXPECT_EQ(cpu.count, 2U);
  EXPECT_THAT(cpu.min, DoubleNear(0.375, 1e-12));
  EXPECT_THAT(cpu.max, DoubleNear(0.5, 1e-12));
  EXPECT_THAT(cpu.p50, DoubleNear(0.375, 1e-12));
  EXPECT_THAT(cpu.p99, DoubleNear(0.5, 1e-12));
  EXPECT_EQ(cpu.basis, "10s");
  EXPECT_THAT(by_name.at("io_wait").max, DoubleNear(0.125, 1e-12));
  // The rates are (1000 + 100) / 10 and (300 + 100) / 10 bytes per second. The loopback device is
  // excluded.
  const ResourceRow& network = by_name.at("network_receive");
  EXPECT_EQ(network.count, 2U);
  EXPECT_THAT(network.max, DoubleNear(110, 1e-9));
  EXPECT_THAT(network.min, DoubleNear(40, 1e-9));
  const ResourceRow& gpu = by_name.at("gpu");
  EXPECT_EQ(gpu.count, 4U);
  EXPECT_EQ(gpu.p50, 0.2);
  EXPECT_EQ(gpu.p99, 0.4);
  EXPECT_THAT(gpu.mean, DoubleNear(0.25, 1e-12));
}

// Network usage is based on 10-second rows for ranges up to half an hour, and on 2-minute rows for
// longer ranges.
TEST(ResourceTable, LongRangesUseTwoMinuteRows) {
  VectorHistory history;
  JobOverview life;
  history.Edit("j", [&](auto* job) {
    std::vector<double> times, values;
    for (int s = 0; s <= 1920; s += 10) {
      times.push_back(s);
      values.push_back(s * s);  // the rate increases by 2 bytes per second each second
    }
    job->columns.push_back(VectorHistory::ColumnOf({{"__name__", "system_network_io_bytes_total"},
                                                    {"node", "n"},
                                                    {"device", "eth0"},
                                                    {"direction", "transmit"}},
                                                   times, values));
    job->life.first_ns = AtSecond(0);
    job->life.last_ns = AtSecond(1920);
    life = job->life;
  });
  const auto table = [&](double from_s, double to_s) {
    const auto rows = *MakeResourceTable(history, life, {AtSecond(from_s), AtSecond(to_s)}, {});
    EXPECT_THAT(rows, SizeIs(1));
    return rows[0];
  };
  const ResourceRow fine = table(100, 1900);
  EXPECT_EQ(fine.basis, "10s");
  EXPECT_EQ(fine.count, 179U);
  EXPECT_THAT(fine.max, DoubleNear(1890 + 1880, 1e-9));
  const ResourceRow whole = table(0, 1921);
  EXPECT_EQ(whole.basis, "2m");
  EXPECT_EQ(whole.count, 16U);
  // The rates cover 110 s to 230 s, and 1910 s to 1920 s. The second interval is a 2-minute row
  // with only one sample.
  EXPECT_THAT(whole.min, DoubleNear((1920.0 * 1920 - 1910.0 * 1910) / 120, 1e-9));
  EXPECT_THAT(whole.max, DoubleNear(1910 + 1790, 1e-9));
}

// Runs the comparison for seconds [from, to) of the job "j".
Differences DifferencesBetween(const VectorHistory& history, int from, int to,
                               std::vector<Selector> suspects = {}) {
  DifferenceQuery query;
  auto life = std::make_shared<JobOverview>();
  life->id = "j";
  query.job = life;
  query.range = {AtSecond(from), AtSecond(to)};
  query.suspects = std::move(suspects);
  return *FindDifferences(history, query);
}

TEST(Differences, EffectsMatchManualComputation) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    // Samples are 1 s apart. The interval [40, 50) contains 10 samples, and the preceding period
    // contains 40. The ranks are 0 to 3.
    for (int rank = 0; rank < 4; ++rank) {
      std::vector<double> times, values;
      for (int s = 0; s < 50; ++s) {
        times.push_back(s);
        const double wiggle = s % 2 == 0 ? 1 : -1;
        values.push_back(s < 40 ? 10 + wiggle : (rank == 2 ? 20 : 10.0 + rank * 0.01));
      }
      job->columns.push_back(
          VectorHistory::ColumnOf({{"__name__", "m"}, {"rank", Cat(rank)}}, times, values));
    }
  });
  const Differences found = DifferencesBetween(history, 40, 50);
  EXPECT_EQ(found.tier, std::nullopt);
  EXPECT_EQ(found.before_from_ns, AtSecond(0));
  EXPECT_EQ(found.compared, 4U);
  ASSERT_THAT(found.differences, SizeIs(4));
  const Difference& first = found.differences[0];
  EXPECT_EQ(first.labels.Get("rank"), "2");
  EXPECT_THAT(first.mean, DoubleNear(20, 1e-9));
  EXPECT_THAT(first.before, DoubleNear(10, 1e-9));
  EXPECT_THAT(first.before_effect, DoubleNear(10, 1e-9));  // 10 divided by a deviation of 1
  EXPECT_EQ(first.peer_count, 3U);
  EXPECT_THAT(first.peers, DoubleNear(10.01, 1e-9));
  // The median deviation of 10, 10.01, and 10.03 is 0.01, so the floor of 1% of 10.01 applies.
  EXPECT_THAT(first.peers_effect, DoubleNear(9.99 / 0.1001, 1e-6));
  EXPECT_THAT(first.effect, DoubleNear(std::log2(11) + std::log2(1 + 9.99 / 0.1001), 1e-6));
  // Only suspects are ranked, but they are compared against all of their peers.
  const Differences one = DifferencesBetween(history, 40, 50, {SelectorOfMetric("m", {1})});
  ASSERT_THAT(one.differences, SizeIs(1));
  EXPECT_EQ(one.differences[0].labels.Get("rank"), "1");
  EXPECT_EQ(one.compared, 4U);
}

TEST(Differences, CountersAreComparedByRate) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    std::vector<double> times, values;
    double value = 0;
    for (int s = 0; s < 50; ++s) {
      times.push_back(s);
      value += s < 40 ? 2 : 6;
      if (s == 20) value = 2;  // counter reset
      values.push_back(value);
    }
    auto column = VectorHistory::ColumnOf({{"__name__", "c"}}, times, values);
    column.kind = SeriesKind::kCounter;
    job->columns = {column};
  });
  const Differences found = DifferencesBetween(history, 40, 50);
  ASSERT_THAT(found.differences, SizeIs(1));
  EXPECT_THAT(found.differences[0].mean, DoubleNear(6, 1e-9));
  EXPECT_THAT(found.differences[0].before, DoubleNear(2, 1e-9));
  // The deviation before the interval is 0, so the floor of 1% results in an effect of 4 / 0.02.
  EXPECT_THAT(found.differences[0].before_effect, DoubleNear(200, 1e-6));
  EXPECT_EQ(found.differences[0].peer_count, 0U);
  EXPECT_TRUE(std::isnan(found.differences[0].peers));
}

TEST(Differences, FindsPlantedFaultsAmongManySeries) {
  int in_top_three = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    VectorHistory history;
    std::mt19937 random(seed);
    const unsigned victim = random() % 600;
    history.Edit("j", [&](auto* job) {
      for (unsigned i = 0; i < 600; ++i) {
        std::normal_distribution<double> noise(10 + i / 64, 0.5);
        std::vector<double> times, values;
        // All values rise slightly in the interval, but the victim's values rise much more.
        for (int s = 0; s < 100; ++s) {
          times.push_back(s);
          values.push_back(noise(random) + (s >= 80 ? 0.3 : 0) + (i == victim && s >= 80 ? 4 : 0));
        }
        job->columns.push_back(VectorHistory::ColumnOf(
            {{"__name__", Cat("m", i / 64)}, {"rank", Cat(i % 64)}}, times, values));
      }
    });
    const Differences found = DifferencesBetween(history, 80, 100);
    for (size_t i = 0; i < 3; ++i) {
      const Labels& labels = found.differences[i].labels;
      if (labels.Name() == Cat("m", victim / 64) && labels.Get("rank") == Cat(victim % 64))
        ++in_top_three;
    }
  }
  EXPECT_GE(in_top_three, 9);
}

// Relative to a deviation of 0, two differences have unbounded effects but are irrelevant: a share
// of time that grows from zero to 0.00025, and a small flow next to the disk's large flow.
TEST(Differences, NegligibleDifferencesRankBelowRelevantOnes) {
  VectorHistory history;
  history.Edit("j", [](auto* job) {
    std::mt19937 random(7);
    std::normal_distribution<double> noise(0, 0.01);
    const auto add = [&](const Labels& labels, double before, double inside, bool noisy,
                         bool counter) {
      std::vector<double> times, values;
      double sum = 0;
      for (int s = 0; s < 100; ++s) {
        const double value = (s < 80 ? before : inside) + (noisy ? noise(random) : 0);
        times.push_back(s);
        sum += value;
        values.push_back(counter ? sum : value);
      }
      auto column = VectorHistory::ColumnOf(labels, times, values);
      if (counter) column.kind = SeriesKind::kCounter;
      job->columns.push_back(std::move(column));
    };
    for (const char* cpu : {"0", "1"}) {
      const bool first = cpu[0] == '0';
      add({{"__name__", "system_cpu_utilization_ratio"}, {"cpu", cpu}, {"mode", "steal"}}, 0,
          first ? 0.00025 : 0, false, false);
      add({{"__name__", "system_cpu_time_seconds_total"}, {"cpu", cpu}, {"mode", "steal"}}, 0,
          first ? 0.00025 : 0, false, true);
      add({{"__name__", "train_phase_state"}, {"phase", "optimizer"}, {"rank", cpu}}, 0,
          first ? 0.0045 : 0, false, false);
      add({{"__name__", "system_disk_io_bytes_total"}, {"device", cpu}}, first ? 0 : 5e7,
          first ? 3e4 : 5e7, false, true);
      add({{"__name__", "train_phase_duration_seconds"}, {"phase", "forward"}, {"rank", cpu}}, 0.2,
          first ? 0.4 : 0.2, true, false);
    }
    // Metrics that are inherently rare and small are still reported.
    add({{"__name__", "hw_errors_total"}, {"hw_id", "3"}}, 0, 0.05, false, true);
    add({{"__name__", "train_tensor_nan_ratio"}, {"tensor", "a"}}, 0, 1e-4, false, false);
  });
  const Differences found = DifferencesBetween(history, 80, 100);
  std::vector<std::string> first;
  for (size_t i = 0; i < 3; ++i) first.emplace_back(found.differences[i].labels.Name());
  EXPECT_THAT(first, ::testing::UnorderedElementsAre("train_phase_duration_seconds",
                                                     "hw_errors_total", "train_tensor_nan_ratio"));
  for (const Difference& one : found.differences) {
    const std::string_view metric = one.labels.Name();
    if (metric == "system_cpu_utilization_ratio" || metric == "system_disk_io_bytes_total") {
      EXPECT_LT(one.before_effect, 0.1) << metric;
    }
  }
}

TEST(NaturalOrder, NumbersAreComparedByValue) {
  EXPECT_TRUE(NaturallyLess("2", "10"));
  EXPECT_FALSE(NaturallyLess("10", "2"));
  EXPECT_TRUE(NaturallyLess("node2-gpu10", "node10-gpu2"));
  EXPECT_TRUE(NaturallyLess("a", "b"));
  EXPECT_TRUE(NaturallyLess("", "a"));
  EXPECT_TRUE(NaturallyLess("01", "1"));  // equal numbers are ordered by bytes
  EXPECT_FALSE(NaturallyLess("1", "1"));
  EXPECT_TRUE(NaturallyLess("99999999999999999999998", "99999999999999999999999"));
  EXPECT_TRUE(NaturallyLess(Labels{{"a", "9"}}, Labels{{"a", "10"}}));
  EXPECT_TRUE(NaturallyLess(Labels{{"a", "9"}}, Labels{{"a", "9"}, {"b", "1"}}));
}

TEST(Statistics, MediansAndQuantilesMatchDefinition) {
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({4, 1, 3, 2}), 2.5);
  EXPECT_TRUE(std::isnan(MedianOf({})));
  const std::vector<double> sorted = {1, 2, 3, 4};
  EXPECT_EQ(QuantileOf(sorted, 0), 1);
  EXPECT_EQ(QuantileOf(sorted, 0.5), 2);
  EXPECT_EQ(QuantileOf(sorted, 0.51), 3);
  EXPECT_EQ(QuantileOf(sorted, 1), 4);
}

}  // namespace
}  // namespace pitwall::history
