// Test fixture for readers. It provides a file-based fake machine and the values that a reader
// returns.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "services/base/text/strings.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/readers/system/system_readers.h"
#include "services/collector/readers/testing/catalogue.h"
#include "services/model/value.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {

// Fake drivers with counters set by the test.
class TestDriverCounters final : public DriverCounters {
 public:
  using Devices = std::map<std::string, StatusOr<std::vector<DriverCounter>>>;
  explicit TestDriverCounters(Devices given = {}) : devices(std::move(given)) {}
  StatusOr<std::vector<DriverCounter>> Read(const std::string& device) const override {
    ++reads;
    const auto found = devices.find(device);
    return found == devices.end() ? Unimplemented(device) : found->second;
  }
  Devices devices;
  mutable int reads = 0;
};

class ReadersTest : public ::testing::Test {
 protected:
  // Returns the values from one reading, by series. Missing values are excluded. Every series must
  // be in rules/metrics.yaml with the same labels.
  std::map<std::string, double> Values(SeriesReader& reader) {
    changed_ = reader.Read();
    std::vector<SeriesDescriptor> series;
    reader.Describe(&series);
    std::vector<double> row(series.size() + 1, -1);
    EXPECT_EQ(reader.Fill(row.data()), row.data() + series.size());
    EXPECT_EQ(row.back(), -1);
    std::map<std::string, double> out;
    missing_ = 0;
    for (size_t i = 0; i < series.size(); ++i) {
      EXPECT_EQ(series[i].labels.Get("node"), "n1");
      catalogue_.Check(series[i]);
      if (IsMissing(row[i])) {
        ++missing_;
        continue;
      }
      EXPECT_TRUE(out.emplace(Short(series[i].labels), row[i]).second);
    }
    return out;
  }
  // Formats a series as its name and label values, separated by spaces. The node label is omitted.
  static std::string Short(const Labels& labels) {
    std::string out(labels.Name());
    for (const Label& label : labels) {
      if (label.name != kMetricName && label.name != "node") CatTo(out, " ", label.value);
    }
    return out;
  }
  uint64_t Errors() const { return counters_.read_errors.load(); }

  TestRoot root_;
  fakes::FakeClock clock_;
  Counters counters_;
  MonotonicEventClock event_clock_{clock_};
  TestDriverCounters drivers_;
  const SystemContext context_{{root_.path(), "n1", &counters_}, &clock_, &event_clock_, &drivers_};
  const Catalogue catalogue_;
  bool changed_ = false;
  int missing_ = 0;
};

}  // namespace pitwall::collector
