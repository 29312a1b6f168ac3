#include "services/codec/imports/system_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/codec/imports/testing/collected_samples.h"

namespace pitwall::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Row(std::string_view type, std::string_view name, std::string_view dimension,
                double value, double time, std::string_view node = "algo-1") {
  return Cat(R"({"Type":")", type, R"(","Name":")", name, R"(","Dimension":")", dimension,
             R"(","Value":)", FormatDouble(value), R"(,"NodeId":")", node, R"(","Timestamp":)",
             FormatDouble(time), "}\n");
}

struct Outcome {
  TestSamples samples;
  std::string error;
  std::vector<std::string> skipped;
};

// Reads the files in the given order, each in pieces of `piece` bytes.
Outcome Read(const std::vector<std::string>& files, size_t piece = 7,
             const SystemMetricLimits& limits = {}) {
  Outcome outcome;
  SeriesIndex series(&outcome.samples);
  SystemMetricsReader reader(&series, limits);
  Status done;
  for (size_t i = 0; i < files.size() && done.ok(); ++i) {
    reader.BeginFile(Cat("f", i));
    const std::string_view text = files[i];
    for (size_t at = 0; at < text.size() && done.ok(); at += piece)
      done = reader.Feed(text.substr(at, piece));
    if (done.ok()) done = reader.EndFile();
  }
  if (done.ok()) done = reader.Finish();
  outcome.error = ToStd(done.message());
  outcome.skipped = reader.skipped().first();
  return outcome;
}

TEST(SystemMetricsReader, EmitsCanonicalSeries) {
  const std::string file = Row("cpu", "cpu3", "CPUUtilization", 75, 10.25) +
                           Row("cpu", "cpu3", "I/OWaitPercentage", 12.5, 10.25) +
                           Row("gpu", "gpu0", "GPUUtilization", 50, 10.1) +
                           Row("gpu", "gpu0", "GPUMemoryUtilization", 40, 10.1) +
                           Row("memory", "MemoryUsedPercent", "", 25, 10) +
                           Row("disk", "new", "", 1, 10) + "\n";
  for (const size_t piece : {size_t{1}, size_t{64}, file.size()}) {
    const Outcome read = Read({file}, piece);
    EXPECT_EQ(read.error, "");
    EXPECT_THAT(
        read.samples.Of(""),
        ElementsAre(
            R"(hw_gpu_memory_limit_bytes{gpu="0",node="algo-1"} @10100ms 100)",
            R"(hw_gpu_memory_usage_bytes{gpu="0",node="algo-1"} @10100ms 40)",
            R"(hw_gpu_utilization_ratio{gpu="0",node="algo-1"} @10100ms 0.5)",
            R"(system_cpu_utilization_ratio{cpu="3",mode="idle",node="algo-1"} @10250ms 0.125)",
            R"(system_cpu_utilization_ratio{cpu="3",mode="iowait",node="algo-1"} @10250ms 0.125)",
            R"(system_cpu_utilization_ratio{cpu="3",mode="user",node="algo-1"} @10250ms 0.75)",
            R"(system_memory_utilization_ratio{node="algo-1"} @10000ms 0.25)"));
  }
}

TEST(SystemMetricsReader, IdleIsRemainderAfterBusyAndIowait) {
  const Outcome read = Read({
      // The iowait share at 1 s is in the next file. The tick at 2 s has no iowait share, and the
      // tick at 3 s has only an iowait share. At 4 s, the two shares exceed 100%.
      Row("cpu", "cpu0", "CPUUtilization", 50, 1) + Row("cpu", "cpu0", "CPUUtilization", 75, 2),
      Row("cpu", "cpu0", "I/OWaitPercentage", 25, 3) +
          Row("cpu", "cpu0", "I/OWaitPercentage", 25, 1),
      Row("cpu", "cpu0", "I/OWaitPercentage", 25, 4) + Row("cpu", "cpu0", "CPUUtilization", 100, 4),
  });
  EXPECT_EQ(read.error, "");
  const std::string idle = R"(system_cpu_utilization_ratio{cpu="0",mode="idle",node="algo-1"} @)";
  EXPECT_THAT(read.samples.Of(idle),
              ElementsAre(idle + "1000ms 0.25", idle + "2000ms 0.25", idle + "4000ms 0"));
}

TEST(SystemMetricsReader, RatesBecomeCountersInTimeOrder) {
  const Outcome read = Read({
      Row("network", "ReceiveBytesPerSecond", "Algorithm", 100, 12) +
          Row("network", "ReceiveBytesPerSecond", "Algorithm", 10, 12.5),
      Row("network", "ReceiveBytesPerSecond", "Algorithm", 1000, 10) +
          Row("network", "ReceiveBytesPerSecond", "Algorithm", 100, 12) +
          Row("network", "TransmitBytesPerSecond", "Platform", 8, 10) +
          Row("i/o", "IOPS", "", 4, 10) + Row("i/o", "IOPS", "", 4, 11) +
          Row("i/o", "ReadThroughputInBytesPerSecond", "", 4, 11, "algo-2") +
          Row("i/o", "WriteThroughputInBytesPerSecond", "", 4, 11, "algo-2"),
  });
  EXPECT_EQ(read.error, "");
  const std::string received =
      R"(system_network_io_bytes_total{device="algorithm",direction="receive",node="algo-1"} @)";
  EXPECT_THAT(
      read.samples.Of(""),
      ElementsAre(
          R"(system_disk_io_bytes_total{device="all",direction="read",node="algo-2"} @11000ms 0)",
          R"(system_disk_io_bytes_total{device="all",direction="write",node="algo-2"} @11000ms 0)",
          R"(system_disk_operations_total{device="all",direction="all",node="algo-1"} @10000ms 0)",
          R"(system_disk_operations_total{device="all",direction="all",node="algo-1"} @11000ms 4)",
          received + "10000ms 0", received + "12000ms 200", received + "12500ms 205",
          R"(system_network_io_bytes_total{device="platform",direction="transmit",node="algo-1"} @10000ms 0)"));
}

TEST(SystemMetricsReader, InvalidLines_AreSkippedAndReportedWithLocation) {
  const std::string good = Row("memory", "MemoryUsedPercent", "", 25, 10);
  for (const std::string_view damaged : {R"({"Type":"mem)", "{\"Type\":\"mem\n", "{}\n\n"}) {
    EXPECT_EQ(Read({good + std::string(damaged), good}).error, "");
    EXPECT_EQ(Read({good + std::string(damaged)}).samples.size(), 1);
    const Outcome inside = Read({good, Cat(good, Trim(damaged), "\n", good)});
    EXPECT_EQ(inside.error, "");
    EXPECT_EQ(inside.samples.size(), 3) << damaged;
    EXPECT_THAT(inside.skipped, ElementsAre(::testing::StartsWith("f1:2:1: "))) << damaged;
    EXPECT_THAT(Read({std::string(damaged)}).error, ::testing::StartsWith("f0:1:1: "));
  }
  // A file without a valid line is rejected even if another file is valid.
  EXPECT_THAT(Read({good, "{}\n"}).error, ::testing::StartsWith("f1:1:1: "));
  EXPECT_EQ(Read({"\xef\xbb\xbf" + good}).samples.size(), 1);
  const auto error_of = [&](std::string_view line) {
    const Outcome read = Read({Cat(line, "\n", good)});
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.samples.size(), 1);
    return read.skipped.empty() ? "" : read.skipped[0];
  };
  EXPECT_EQ(error_of("[]"), "f0:1:1: not a JSON object");
  EXPECT_EQ(error_of("{}"), "f0:1:1: Type is missing or not a string");
  EXPECT_EQ(error_of(R"({"Type":"memory","Dimension":"","NodeId":"n","Value":"1","Timestamp":1})"),
            "f0:1:1: Value is missing or not a number");
  EXPECT_EQ(error_of(R"({"Type":"memory","Dimension":"","NodeId":"n","Value":1,"Timestamp":1e18})"),
            "f0:1:1: Timestamp is out of range");
  EXPECT_EQ(error_of(Trim(Row("gpu", "gpu0", "GPUUtilization", 3e6, 10))),
            "f0:1:1: Value 3000000 is not a percentage");
  EXPECT_EQ(error_of(Trim(Row("cpu", "cpu0", "CPUUtilization", -1, 10))),
            "f0:1:1: Value -1 is not a percentage");
  EXPECT_EQ(error_of(Trim(Row("i/o", "IOPS", "", -4, 10))), "f0:1:1: Value -4 is not a rate");
  for (const size_t piece : {1, 7, 1000}) {
    const Outcome read =
        Read({Cat(good, std::string(1'000, ' '), "\n", good)}, piece, {.line_bytes = 500});
    EXPECT_THAT(read.skipped, ElementsAre("f0:2:1: line is longer than 500 bytes"));
    EXPECT_EQ(read.samples.size(), 2);
  }
  EXPECT_EQ(
      Read({Row("i/o", "IOPS", "", 4, 10) + Row("i/o", "IOPS", "", 4, 11)}, 7, {.rate_rows = 1})
          .error,
      "f0:2:1: too many rate rows in one input (limit 1)");
  EXPECT_THAT(Read({""}).samples.Of(""), IsEmpty());
}

}  // namespace
}  // namespace pitwall::imports
