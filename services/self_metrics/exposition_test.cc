#include "services/self_metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <thread>

#include "services/base/text/strings.h"
#include "services/self_metrics/process.h"

namespace pitwall::self_metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns the exit status and output of `promtool check metrics`, or nullopt if promtool is not
// installed.
std::optional<std::pair<int, std::string>> Promtool(const std::string& text) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) return std::nullopt;
  std::string name = testing::TempDir() + "/pitwall-exposition-XXXXXX";
  const int fd = mkstemp(name.data());
  EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(fd);
  FILE* const pipe = popen(Cat("promtool check metrics <", name, " 2>&1").c_str(), "r");
  std::string output;
  char buffer[512];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  const int status = pclose(pipe);
  unlink(name.c_str());
  return std::pair(WEXITSTATUS(status), output);
}

TEST(Exposition, RendersGoldenText) {
  Exposition exposition;
  Counter polls;
  polls.Add(3);
  SharedCounter errors;
  Gauge lag;
  lag.Set(1.5);
  Histogram latency(std::array<double, 2>{0.125, 1.0});
  latency.Observe(0.125);
  latency.Observe(0.5);
  latency.Observe(7);
  Probe probe(&exposition);
  probe.Add("pitwall_polls_total", "Polls.", &polls, {{"partition", "1"}});
  probe.Add("pitwall_polls_total", "Another help.", &polls, {{"partition", "0"}});
  probe.Add("pitwall_errors_total", "Errors.", &errors);
  probe.Add("pitwall_lag_seconds", "Lag.", &lag);
  probe.Add("pitwall_latency_seconds", "Latency.", &latency);
  probe.ListGauges("pitwall_open", "Open.", [](std::vector<Sample>* out) {
    out->push_back({{{"rule", "b\"\\\n"}}, std::numeric_limits<double>::infinity()});
    out->push_back({{{"rule", "a"}}, 2});
    out->push_back({{{"rule", "a"}}, 3});  // duplicate of the previous sample
  });
  EXPECT_EQ(exposition.Render(),
            R"(# HELP pitwall_errors_total Errors.
# TYPE pitwall_errors_total counter
pitwall_errors_total 0
# HELP pitwall_lag_seconds Lag.
# TYPE pitwall_lag_seconds gauge
pitwall_lag_seconds 1.5
# HELP pitwall_latency_seconds Latency.
# TYPE pitwall_latency_seconds histogram
pitwall_latency_seconds_count 3
pitwall_latency_seconds_sum 7.625
pitwall_latency_seconds_bucket{le="0.125"} 1
pitwall_latency_seconds_bucket{le="1"} 2
pitwall_latency_seconds_bucket{le="+Inf"} 3
# HELP pitwall_metrics_omitted_samples Samples omitted from this scrape: too many, or duplicate labels.
# TYPE pitwall_metrics_omitted_samples gauge
pitwall_metrics_omitted_samples 1
# HELP pitwall_open Open.
# TYPE pitwall_open gauge
pitwall_open{rule="a"} 2
pitwall_open{rule="b\"\\\n"} +Inf
# HELP pitwall_polls_total Polls.
# TYPE pitwall_polls_total counter
pitwall_polls_total{partition="0"} 3
pitwall_polls_total{partition="1"} 3
)");
}

TEST(Exposition, PromtoolAcceptsText) {
  Exposition exposition;
  Probe probe(&exposition);
  AddProcessMetrics(&probe);
  AddBuildInfo("0.1.0", "notifier", &probe);
  Histogram latency(kLatencyBounds);
  latency.Observe(0.02);
  Gauge gauge;
  gauge.Set(std::nan(""));
  probe.Add("pitwall_webhook_latency_seconds", "Latency.", &latency, {{"webhook", "a"}});
  probe.Add("pitwall_temperature_celsius", "Odd \\ help\nin two lines.", &gauge);
  const std::string text = exposition.Render();
  EXPECT_THAT(text, HasSubstr("pitwall_build_info{service=\"notifier\",version=\"0.1.0\"} 1\n"));
  for (const char* name : {"process_cpu_seconds_total", "process_open_fds", "process_max_fds",
                           "process_virtual_memory_bytes", "process_virtual_memory_max_bytes",
                           "process_resident_memory_bytes", "process_start_time_seconds"}) {
    EXPECT_THAT(text, HasSubstr(Cat("\n", name, " "))) << text;
  }
  const auto verdict = Promtool(text);
  if (!verdict) GTEST_SKIP() << "promtool is not installed";
  EXPECT_EQ(verdict->first, 0) << verdict->second << text;
  EXPECT_EQ(verdict->second, "");
  // Verifies that promtool rejects invalid text.
  EXPECT_NE(Promtool(Cat(text, "pitwall_lag_seconds{ 1\n"))->first, 0);
}

TEST(Exposition, ProcessMetricsDescribeOwnProcess) {
  Exposition exposition;
  Probe probe(&exposition);
  AddProcessMetrics(&probe);
  const auto value = [&](std::string_view name) {
    const std::string text = exposition.Render();
    const size_t at = text.find(Cat("\n", name, " "));
    EXPECT_NE(at, std::string::npos);
    const size_t begin = at + name.size() + 2;
    return ParseDouble(std::string_view(text).substr(begin, text.find('\n', begin) - begin))
        .value();
  };
  const double before = value("process_open_fds");
  const int fd = dup(0);
  EXPECT_EQ(value("process_open_fds"), before + 1);
  close(fd);
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("process_start_time_seconds"), 1.6e9);
}

TEST(Probe, DestroyedOrReplaced_RemovesItsMetrics) {
  Exposition exposition;
  Counter counter;
  Probe kept(&exposition);
  kept.Add("pitwall_b_total", "B.", &counter);
  {
    Probe a(&exposition);
    a.Add("pitwall_a_total", "A.", &counter);
    Probe b = std::move(a);
    EXPECT_THAT(exposition.Render(), HasSubstr("pitwall_a_total 0"));
    b = Probe();
    EXPECT_THAT(exposition.Render(), Not(HasSubstr("pitwall_a_total")));
    b = Probe(&exposition);
    b.Add("pitwall_a_total", "A.", &counter);
  }
  EXPECT_THAT(exposition.Render(), Not(HasSubstr("pitwall_a_total")));
  EXPECT_THAT(exposition.Render(), HasSubstr("pitwall_b_total 0"));
  kept = Probe();
  EXPECT_THAT(exposition.Render(), Not(HasSubstr("pitwall_b_total")));
}

TEST(Probe, ReadsValuesAtEachScrape) {
  Exposition exposition;
  size_t open = 1;
  Probe probe(&exposition);
  probe.AddGauge("pitwall_open", "Open.", [&open] { return open; }, {{"kind", "a"}});
  probe.AddCounter("pitwall_opened_total", "Opened.", [&open] { return 2 * open; });
  EXPECT_THAT(exposition.Render(), HasSubstr("pitwall_open{kind=\"a\"} 1\n"));
  open = 3;
  EXPECT_THAT(exposition.Render(), HasSubstr("pitwall_open{kind=\"a\"} 3\n"));
  EXPECT_THAT(exposition.Render(), HasSubstr("# TYPE pitwall_opened_total counter\n"
                                             "pitwall_opened_total 6\n"));
}

TEST(Probe, WithoutExposition_IgnoresMetrics) {
  Counter counter;
  Probe probe;
  probe.Add("pitwall_a_total", "A.", &counter);
  const Probe other = std::move(probe);
}

TEST(Exposition, LimitsSamplesPerFamily) {
  Exposition exposition;
  Probe probe(&exposition);
  probe.ListGauges("pitwall_many", "Many.", [](std::vector<Sample>* out) {
    for (size_t i = 0; i < Exposition::kMaxSamplesPerFamily + 5; ++i) {
      out->push_back({Labels{{"i", Cat(i)}}, 1});
    }
  });
  EXPECT_THAT(exposition.Render(), HasSubstr("pitwall_metrics_omitted_samples 5\n"));
}

TEST(Exposition, SecondTypeForFamilyFails) {
  Exposition exposition;
  Counter counter;
  Gauge gauge;
  Probe probe(&exposition);
  probe.Add("pitwall_a_total", "A.", &counter);
  EXPECT_DEATH(probe.Add("pitwall_a_total", "A.", &gauge), "check failed");
  EXPECT_DEATH(probe.Add("1st", "A.", &gauge), "check failed");
}

TEST(Instruments, ConcurrentWritesAndReads_LoseNoUpdates) {
  Exposition exposition;
  Counter counter;
  SharedCounter shared;
  Histogram histogram(std::array<double, 1>{1.0});
  Probe probe(&exposition);
  probe.Add("pitwall_a_total", "A.", &counter);
  probe.Add("pitwall_b_total", "B.", &shared);
  probe.Add("pitwall_c_seconds", "C.", &histogram);
  std::thread other([&] {
    for (int i = 0; i < 10'000; ++i) shared.Add();
  });
  std::thread writer([&] {
    for (int i = 0; i < 10'000; ++i) {
      counter.Add();
      shared.Add();
      histogram.Observe(i % 3);
    }
  });
  for (int i = 0; i < 20; ++i) exposition.Render();
  writer.join();
  other.join();
  EXPECT_EQ(counter.value(), 10'000U);
  EXPECT_EQ(shared.value(), 20'000U);
  EXPECT_EQ(histogram.count(0), 6'667U);
  EXPECT_EQ(histogram.count(1), 3'333U);
}

}  // namespace
}  // namespace pitwall::self_metrics
