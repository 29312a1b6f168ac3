#include "services/collector/gpu_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "services/model/value.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GpuMonitorTest : public ::testing::Test {
 protected:
  fakes::FakeClock clock_;
  Counters counters_;
  ReaderContext context_{"/", "n1", &counters_};
};

TEST_F(GpuMonitorTest, ReadsWhatTheLibrarySays) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  EXPECT_TRUE(monitor.Readings().empty());
  monitor.Start();
  clock_.AwaitWaiters(1);
  ASSERT_EQ(monitor.count(), 3u);
  const auto readings = monitor.Readings();
  EXPECT_DOUBLE_EQ(readings[0].utilization_ratio, 0.25);
  EXPECT_DOUBLE_EQ(readings[0].memory_used_bytes, 100);
  EXPECT_DOUBLE_EQ(readings[0].memory_total_bytes, 1000);
  EXPECT_DOUBLE_EQ(readings[0].power_watts, 350.5);
  EXPECT_DOUBLE_EQ(readings[0].temperature_celsius, 60);
  EXPECT_TRUE(IsMissing(readings[1].temperature_celsius));
  EXPECT_TRUE(IsMissing(readings[2].utilization_ratio));
  EXPECT_EQ(counters_.nvml_errors, 5u);

  auto all = NewGpuReader(context_, &monitor, {});
  EXPECT_TRUE(all->Read());
  EXPECT_FALSE(all->Read());
  std::vector<SeriesDescriptor> series;
  all->Describe(&series);
  EXPECT_EQ(series.size(), 15u);
  auto some = NewGpuReader(context_, &monitor, {1, 7, 1});
  EXPECT_TRUE(some->Read());
  series.clear();
  some->Describe(&series);
  ASSERT_EQ(series.size(), 5u);
  std::vector<double> row(5);
  EXPECT_EQ(some->Fill(row.data()), row.data() + 5);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(series[i].labels.Get("gpu"), "1");
    const bool utilization = series[i].labels.Name() == "hw_gpu_utilization_ratio";
    EXPECT_TRUE(!utilization || row[i] == 0.5);
    EXPECT_THAT(GpuSeriesNames(), ::testing::Contains(series[i].labels.Name()));
  }
  // While the driver blocks (here: the clock moves, its thread does not run), old readings are no
  // readings.
  monitor.Stop();
  clock_.Advance(10 * kNanosPerSecond);
  EXPECT_TRUE(IsMissing(monitor.Readings()[0].utilization_ratio));
  EXPECT_FALSE(some->Read());  // the series stay
}

TEST_F(GpuMonitorTest, AbsentLibraryAndAbsentDriver) {
  EXPECT_EQ(Nvml::Open("libthere-is-no-such-thing.so.1").status().code(),
            absl::StatusCode::kNotFound);
  setenv("FAKE_NVML_NO_DRIVER", "1", 1);
  const auto opened = Nvml::Open(PITWALL_FAKE_NVML);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("Driver Not Loaded (9)"));
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  EXPECT_EQ(monitor.count(), 0u);
  unsetenv("FAKE_NVML_NO_DRIVER");
  clock_.Advance(60 * kNanosPerSecond);  // it tries again
  while (monitor.count() == 0) clock_.AwaitWaiters(1);
  EXPECT_EQ(monitor.count(), 3u);
  monitor.Stop();
}

}  // namespace
}  // namespace pitwall::collector
