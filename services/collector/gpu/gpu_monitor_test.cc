#include "services/collector/gpu/gpu_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

#include "services/base/text/strings.h"
#include "services/collector/gpu/testing/fake_nvml.h"
#include "services/collector/readers/testing/catalogue.h"
#include "services/model/value.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kLost = 15;

class GpuMonitorTest : public ::testing::Test {
 protected:
  // Values by series name and labels. Excludes the node and gpu labels and missing values.
  using Row = std::map<std::string, double>;

  // Advances the clock by `ns` and waits until the monitor has taken its readings.
  void Next(int64_t ns) {
    clock_.AwaitWaiters(1);
    clock_.Advance(ns);
    clock_.AwaitWaiters(1);
  }
  // Returns the current values of one GPU.
  Row Of(const GpuMonitor& monitor, int gpu) {
    auto reader = NewGpuReader(context_, &monitor, {gpu});
    reader->Read();
    std::vector<SeriesDescriptor> series;
    reader->Describe(&series);
    std::vector<double> row(series.size() + 1, -1);
    EXPECT_EQ(reader->Fill(row.data()), row.data() + series.size());
    Row out;
    missing_ = 0;
    for (size_t i = 0; i < series.size(); ++i) {
      EXPECT_EQ(series[i].labels.Get("node"), "n1");
      if (series[i].labels.Get("gpu") == "unknown") continue;
      EXPECT_EQ(series[i].labels.Get("gpu"), Cat(gpu));
      EXPECT_THAT(GpuSeriesNames(), Contains(series[i].labels.Name()));
      catalogue_.Check(series[i]);
      std::string name(series[i].labels.Name());
      for (const Label& label : series[i].labels) {
        if (label.name != kMetricName && label.name != "node" && label.name != "gpu")
          CatTo(name, " ", label.value);
      }
      if (IsMissing(row[i])) {
        ++missing_;
        continue;
      }
      EXPECT_TRUE(out.emplace(name, row[i]).second) << name;
    }
    return out;
  }

  FakeNvml fake_;
  fakes::FakeClock clock_;
  Counters counters_;
  ReaderContext context_{"/", "n1", &counters_};
  const Catalogue catalogue_;
  int missing_ = 0;
};

TEST_F(GpuMonitorTest, ConvertsValuesToBaseUnits) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  EXPECT_TRUE(monitor.Readings().empty());
  monitor.Start();
  Next(5 * kNanosPerSecond);  // rates require two readings
  fake_.AwaitReceived();
  const Row got = Of(monitor, 0);
  const Row want = {
      {"hw_gpu_utilization_ratio", 0.25},
      {"hw_gpu_memory_usage_bytes", 100},
      {"hw_gpu_memory_limit_bytes", 1000},
      {"hw_power_watts", 350.5},
      {"hw_temperature_celsius", 60},
      {"gpu_info NVIDIA H9 GPU-1", 1},
      {"gpu_processes", 5},
      {"gpu_sm_active_ratio", 0.9},
      {"gpu_tensor_active_ratio", 0.45},
      {"gpu_dram_active_ratio", 0.3},
      {"gpu_clock_sm_hertz", 1.755e9},
      {"gpu_clock_sm_limit_hertz", 1.98e9},
      {"gpu_clock_memory_hertz", 2.619e9},
      {"gpu_clock_event_state idle", 0},
      {"gpu_clock_event_state app_setting", 0},
      {"gpu_clock_event_state sw_power_cap", 1},
      {"gpu_clock_event_state hw_slowdown", 0},
      {"gpu_clock_event_state sync_boost", 0},
      {"gpu_clock_event_state sw_thermal", 0},
      {"gpu_clock_event_state hw_thermal", 0},
      {"gpu_clock_event_state hw_power_brake", 1},
      {"gpu_clock_event_state display", 0},
      {"gpu_power_limit_watts", 700},
      {"gpu_energy_joules_total", 123456789.012},
      {"gpu_memory_temperature_celsius", 71},
      {"gpu_temperature_margin_celsius", -2},
      {"gpu_ecc_errors_total sram corrected", 700},
      {"gpu_ecc_errors_total dram corrected", 200},
      {"gpu_ecc_errors_total all corrected", 10},
      {"gpu_ecc_errors_total sram uncorrected", 701},
      {"gpu_ecc_errors_total dram uncorrected", 201},
      {"gpu_ecc_errors_total all uncorrected", 11},
      {"gpu_row_remap_rows correctable", 3},
      {"gpu_row_remap_rows uncorrectable", 2},
      {"gpu_row_remap_pending", 1},
      {"gpu_row_remap_failed", 0},
      {"gpu_pcie_replay_total", 77},
      {"gpu_pcie_link_generation", 4},
      {"gpu_pcie_link_generation_limit", 5},
      {"gpu_pcie_link_width", 8},
      {"gpu_pcie_link_width_limit", 16},
      {"gpu_pcie_io_bytes_per_second transmit", 2e9},
      {"gpu_pcie_io_bytes_per_second receive", 1e9},
      {"gpu_nvlink_links", 18},
      {"gpu_nvlink_active_links", 17},
      {"gpu_nvlink_io_bytes_total transmit", 4096},
      {"gpu_nvlink_io_bytes_total receive", 5120},
      {"gpu_nvlink_errors_total crc_flit", 1000},
      {"gpu_nvlink_errors_total crc_data", 2000},
      {"gpu_nvlink_errors_total replay", 3000},
      {"gpu_nvlink_errors_total recovery", 4000},
      {"gpu_xid_watch_state", 1},
  };
  for (const auto& [name, value] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_DOUBLE_EQ(got.at(name), value) << name;
  }
  EXPECT_EQ(got.size(), want.size());
  EXPECT_EQ(missing_, 0);
}

TEST_F(GpuMonitorTest, UnsupportedReading_IsOmittedAndNotRetried) {
  fake_.SetCount(2);
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  Next(10 * kNanosPerSecond);
  const Row second = Of(monitor, 1);
  EXPECT_EQ(missing_, 0);
  EXPECT_DOUBLE_EQ(second.at("hw_gpu_utilization_ratio"), 0.5);
  EXPECT_EQ(second.at("gpu_processes"), 0);
  EXPECT_EQ(second.at("gpu_clock_event_state idle"), 1);
  EXPECT_EQ(second.at("gpu_memory_temperature_celsius"), 71);
  // If there are no PCIe byte counters, the library measures the rate.
  EXPECT_EQ(second.at("gpu_pcie_io_bytes_per_second transmit"), 2.5e6);
  EXPECT_EQ(second.at("gpu_pcie_io_bytes_per_second receive"), 1.5e6);
  for (const char* name :
       {"hw_temperature_celsius", "gpu_sm_active_ratio", "gpu_energy_joules_total",
        "gpu_temperature_margin_celsius", "gpu_ecc_errors_total all corrected",
        "gpu_ecc_errors_total dram uncorrected", "gpu_row_remap_pending", "gpu_nvlink_links",
        "gpu_nvlink_active_links", "gpu_nvlink_errors_total replay"}) {
    EXPECT_FALSE(second.contains(name)) << name;
  }
  EXPECT_EQ(counters_.nvml_errors, 0u);
  // Only the first GPU supports these calls. They are repeated for the first GPU but tried only
  // once for the second GPU.
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetUtilizationRates"), 4u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetTemperature"), 3u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetTotalEnergyConsumption"), 3u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetTotalEccErrors"), 6u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetMemoryErrorCounter"), 12u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetPcieThroughput"), 4u);  // only for the second GPU
}

TEST_F(GpuMonitorTest, SlowReadingsAreTakenLessOften) {
  fake_.SetCount(1);
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.SetPeriod(100 * kNanosPerMilli);
  monitor.Start();
  for (int i = 0; i < 100; ++i) Next(100 * kNanosPerMilli);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetUtilizationRates"), 101u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetTemperature"), 11u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetTotalEccErrors"), 6u);
  EXPECT_EQ(fake_.Calls("nvmlDeviceGetFieldValues"), 3u);
}

TEST_F(GpuMonitorTest, LostGpu_KeepsSeriesWithoutValues) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  fake_.AwaitReceived();
  EXPECT_THAT(Of(monitor, 2), ElementsAre(Pair("gpu_xid_watch_state", 0)));
  EXPECT_EQ(missing_, 50);  // gpu_info has no labels yet
  EXPECT_EQ(Of(monitor, 0).at("gpu_xid_watch_state"),
            1);  // XID errors of other GPUs are still reported
  EXPECT_GT(counters_.nvml_errors, 20u);
}

TEST_F(GpuMonitorTest, OldDriver_OmitsUnsupportedSeries) {
  GpuMonitor monitor(PITWALL_OLD_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  const Row row = Of(monitor, 0);
  EXPECT_EQ(missing_, 0);
  EXPECT_EQ(row.size(), 15u);
  EXPECT_THAT(row, IsSupersetOf(Row{{"hw_gpu_utilization_ratio", 0.25},
                                    {"hw_power_watts", 350.5},
                                    {"gpu_clock_event_state sw_thermal", 1},
                                    {"gpu_clock_event_state hw_thermal", 0},
                                    {"gpu_xid_watch_state", 0}}));
  EXPECT_EQ(counters_.nvml_errors, 5u);  // all errors are from the lost GPU
}

TEST_F(GpuMonitorTest, XidErrorsAreCountedByCode) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  fake_.AwaitReceived();
  auto reader = NewGpuReader(context_, &monitor, {0});
  EXPECT_TRUE(reader->Read());
  EXPECT_THAT(Of(monitor, 0), Not(Contains(Key(HasSubstr("gpu_xid_errors_total")))));
  const uint64_t before = counters_.nvml_errors;

  fake_.RaiseXid(0, 79);
  fake_.RaiseXid(1, 13);
  fake_.RaiseXid(0, 79);
  fake_.RaiseXid(0, 48);
  fake_.Raise(0, 2, 31);  // this event has another type
  fake_.AwaitReceived();
  EXPECT_TRUE(reader->Read());  // there is a new series
  EXPECT_FALSE(reader->Read());
  EXPECT_THAT(Of(monitor, 0), IsSupersetOf(Row{{"gpu_xid_errors_total 48", 1},
                                               {"gpu_xid_errors_total 79", 2},
                                               {"gpu_xid_watch_state", 1}}));
  EXPECT_THAT(Of(monitor, 0), Not(Contains(Key("gpu_xid_errors_total 31"))));
  EXPECT_THAT(Of(monitor, 1), Contains(Pair("gpu_xid_errors_total 13", 1)));
  EXPECT_EQ(counters_.nvml_errors, before);

  fake_.RaiseXid(0, 79);
  fake_.AwaitReceived();
  EXPECT_FALSE(reader->Read());
  EXPECT_EQ(Of(monitor, 0).at("gpu_xid_errors_total 79"), 3);

  // The number of series is limited even if the number of codes is unlimited.
  for (unsigned code = 1000; code < 1200; ++code) fake_.RaiseXid(1, code);
  fake_.AwaitReceived();
  const Row many = Of(monitor, 1);
  EXPECT_EQ(many.at("gpu_xid_errors_total other"), 200 + 1 - 64);
  EXPECT_EQ(many.at("gpu_xid_errors_total 1000"), 1);
}

// The XID error comes from an unknown or removed device, so it is attributed to the node and to
// each job on it.
TEST_F(GpuMonitorTest, XidOfUnknownGpu_IsSentToReadersOfAllGpus) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  fake_.AwaitReceived();
  auto reader = NewGpuReader(context_, &monitor, {1});
  EXPECT_TRUE(reader->Read());
  const auto unknown = [&] {
    std::vector<SeriesDescriptor> series;
    reader->Describe(&series);
    std::vector<double> row(series.size());
    reader->Fill(row.data());
    Row out;
    for (size_t i = 0; i < series.size(); ++i) {
      if (series[i].labels.Get("gpu") != "unknown") continue;
      EXPECT_EQ(series[i].labels.Name(), "gpu_xid_errors_total");
      out[std::string(series[i].labels.Get("code"))] = row[i];
    }
    return out;
  };
  EXPECT_EQ(unknown(), Row());
  const uint64_t before = counters_.nvml_errors;
  fake_.RaiseXid(7, 79);
  fake_.AwaitReceived();
  EXPECT_TRUE(reader->Read());
  EXPECT_EQ(unknown(), (Row{{"79", 0}}));
  EXPECT_FALSE(reader->Read());
  EXPECT_EQ(unknown(), (Row{{"79", 1}}));
  EXPECT_EQ(counters_.nvml_errors, before + 1);
  // Earlier errors do not count for a job that starts later.
  reader = NewGpuReader(context_, &monitor, {1});
  for (int i = 0; i < 2; ++i) {
    reader->Read();
    EXPECT_EQ(unknown(), (Row{{"79", 1}}));
  }
}

TEST_F(GpuMonitorTest, XidErrorsAreCountedWhileDriverBlocks) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  fake_.AwaitReceived();
  fake_.Hold(true);
  clock_.Advance(kNanosPerSecond);
  fake_.AwaitHeld();
  EXPECT_EQ(Of(monitor, 0).at("hw_power_watts"), 350.5);
  fake_.RaiseXid(0, 79);
  clock_.Advance(3 * kNanosPerSecond);
  fake_.AwaitReceived();
  // Outdated readings have missing values, but their series are kept.
  const Row row = Of(monitor, 0);
  EXPECT_THAT(row, ElementsAre(Pair("gpu_xid_errors_total 79", 1), Pair("gpu_xid_watch_state", 1)));
  EXPECT_EQ(missing_, 51);
  fake_.Hold(false);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(Of(monitor, 0).at("hw_power_watts"), 350.5);
}

TEST_F(GpuMonitorTest, FailedXidWatchIsRestarted) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  fake_.AwaitReceived();
  fake_.RefuseEvents(0, kLost);
  fake_.AwaitReceived();
  fake_.AwaitReceived();
  EXPECT_EQ(fake_.Calls("nvmlDeviceRegisterEvents"), 6u);
  EXPECT_EQ(fake_.EventSets(), 1);
  fake_.RaiseXid(0, 79);
  fake_.AwaitReceived();
  EXPECT_THAT(Of(monitor, 0),
              IsSupersetOf(Row{{"gpu_xid_errors_total 79", 1}, {"gpu_xid_watch_state", 1}}));
}

TEST_F(GpuMonitorTest, WithoutPermission_XidErrorsAreNotWatched) {
  for (const int code : {kNoPermission, kNotSupported}) {
    fake_.RefuseEvents(code, 0);
    GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
    ::testing::internal::CaptureStderr();
    monitor.Start();
    clock_.AwaitWaiters(2);  // the XID watch waits too
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("cannot watch GPU 0 for XID errors"));
    EXPECT_EQ(Of(monitor, 0).at("gpu_xid_watch_state"), 0);
    EXPECT_EQ(fake_.EventSets(), 0);
    if (code == kNotSupported) break;
    fake_.RefuseEvents(0, 0);  // permission is granted later
    clock_.Advance(60 * kNanosPerSecond);
    fake_.AwaitReceived();
    EXPECT_EQ(Of(monitor, 0).at("gpu_xid_watch_state"), 1);
  }
}

TEST_F(GpuMonitorTest, ReaderOfSubsetSeesOnlyItsGpus) {
  GpuMonitor monitor(PITWALL_FAKE_NVML, clock_, &counters_);
  monitor.Start();
  clock_.AwaitWaiters(1);
  ASSERT_EQ(monitor.count(), 3u);
  auto all = NewGpuReader(context_, &monitor, {});
  EXPECT_TRUE(all->Read());
  EXPECT_FALSE(all->Read());
  auto some = NewGpuReader(context_, &monitor, {1, 7, 1});
  EXPECT_TRUE(some->Read());
  std::vector<SeriesDescriptor> series;
  some->Describe(&series);
  const size_t of_one = series.size();
  for (const SeriesDescriptor& one : series) EXPECT_EQ(one.labels.Get("gpu"), "1");
  series.clear();
  all->Describe(&series);
  EXPECT_GT(series.size(), 2 * of_one);
  // A blocked driver is simulated by stopping the monitor and advancing the clock: all values
  // become missing.
  monitor.Stop();
  clock_.Advance(10 * kNanosPerSecond);
  EXPECT_THAT(Of(monitor, 0), ElementsAre(Pair("gpu_xid_watch_state", 0)));
  EXPECT_FALSE(some->Read());  // the series are kept
}

TEST_F(GpuMonitorTest, RetriesWhileDriverIsMissing) {
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
  clock_.Advance(60 * kNanosPerSecond);  // time of the next attempt
  while (monitor.count() == 0) clock_.AwaitWaiters(1);
  EXPECT_EQ(monitor.count(), 3u);
  monitor.Stop();
}

}  // namespace
}  // namespace pitwall::collector
