// Test fixture that runs a complete collector with a fake clock, a file-based fake machine, and an
// in-memory log.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/collector/collector.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/ranks/testing/decode.h"
#include "services/self_metrics/testing/metric_value.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {

class CollectorTest : public ::testing::Test {
 protected:
  CollectorTest() {
    root_.Write("proc/stat", "cpu 1\ncpu0 100 0 0 100 0 0 0 0\ncpu1 100 0 0 100 0 0 0 0\nintr 1\n");
    root_.Write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\n");
    options_.node = "n1";
    options_.root = root_.path();
    options_.gpus = false;
    options_.new_boot_id = [n = 0]() mutable { return Cat("boot", ++n); };
  }

  void Start() {
    auto created = Collector::Create(options_, clock_, &appender_, &exposition_);
    ASSERT_TRUE(created.ok()) << created.status();
    collector_ = *std::move(created);
    const Status status = collector_->Start();
    ASSERT_TRUE(status.ok()) << status;
    Settle();
  }
  // Waits until the sampler, the publisher, and the GPU reader are idle.
  void Settle() { clock_.AwaitWaiters(options_.gpus ? 3 : 2); }
  void Advance(int64_t ns, int64_t step = 100 * kNanosPerMilli) {
    for (; ns > 0; ns -= step) {
      Settle();
      clock_.Advance(std::min(ns, step));
      Settle();
    }
  }
  std::vector<ReadBatch> Stop() {
    collector_->Stop();
    return DecodeAll(appender_.records());
  }
  // Writes this process's entries under /proc.
  void WriteProcess(int start) const {
    root_.Write(Cat("proc/", getpid(), "/stat"),
                Cat(getpid(), " (a) R 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 ", start, " 1 1\n"));
    root_.Write(Cat("proc/", getpid(), "/status"), Cat("Uid:\t0\t", getuid(), "\t0\t0\n"));
  }
  double Counter(std::string_view name, std::string_view reason = "") const {
    const std::optional<double> value = self_metrics::MetricValue(exposition_, name, reason);
    EXPECT_TRUE(value.has_value()) << name;
    return value.value_or(0);
  }

  TestRoot root_;
  fakes::FakeClock clock_{1'767'225'600 * kNanosPerSecond + 123'456'789};
  fakes::FakeAppender appender_;
  self_metrics::Exposition exposition_;
  Options options_;
  std::unique_ptr<Collector> collector_;
};

}  // namespace pitwall::collector
