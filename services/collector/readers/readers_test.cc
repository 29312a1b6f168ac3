#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/readers/job_cgroup.h"
#include "services/collector/readers/series_reader.h"
#include "services/collector/readers/stream_table.h"
#include "services/collector/readers/testing/readers.h"
#include "services/model/value.h"

namespace pitwall::collector {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

TEST_F(ReadersTest, ReadsCpuRatiosAndSecondsPerCore) {
  const double hz = static_cast<double>(sysconf(_SC_CLK_TCK));
  root_.Write(
      "proc/stat",
      "cpu  300 0 0 900 0 0 0 0 0 0\n"
      "cpu0 100 10 20 300 40 1 2 3 0 0\ncpu1 200 0 0 600 0 0 0 0 0 0\nintr 5 6 7\nctxt 1\n");
  auto reader = NewCpuReader(context_);
  auto values = Values(*reader);
  EXPECT_TRUE(changed_);
  EXPECT_EQ(missing_, 16);  // ratios require two readings
  EXPECT_DOUBLE_EQ(values.at("system_cpu_time_seconds_total 0 user"), 100 / hz);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_time_seconds_total 0 iowait"), 40 / hz);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_time_seconds_total 1 idle"), 600 / hz);

  root_.Write(
      "proc/stat",
      "cpu  1 1 1 1\ncpu0 150 10 20 330 50 1 2 13 0 0\ncpu1 200 0 0 600 0 0 0 0 0 0\nintr 5 6 7\n");
  values = Values(*reader);
  EXPECT_FALSE(changed_);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_utilization_ratio 0 user"), 0.5);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_utilization_ratio 0 idle"), 0.3);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_utilization_ratio 0 iowait"), 0.1);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_utilization_ratio 0 steal"), 0.1);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_utilization_ratio 0 nice"), 0);
  EXPECT_EQ(missing_, 8);  // core 1 did not advance, so its ratios are undefined
}

TEST_F(ReadersTest, MalformedCpuLinesAreSkipped) {
  // The file has a decreasing iowait value, a core without the newer modes, a malformed line, and a
  // truncated line.
  root_.Write("proc/stat",
              "cpu 1\ncpu0 10 0 0 10 9 0 0 0\ncpu2 1 2 3 4\ncpuX 1 2 3 4\ncpu3 1 2\nbtime 5\n");
  auto reader = NewCpuReader(context_);
  EXPECT_THAT(Values(*reader), AllOf(Contains(Key("system_cpu_time_seconds_total 2 idle")),
                                     Not(Contains(Key("system_cpu_time_seconds_total 3 idle")))));
  EXPECT_EQ(Errors(), 2u);
  root_.Write("proc/stat", "cpu 1\ncpu0 20 0 0 20 5 0 0 0\ncpu2 1 2 3 4\nbtime 5\n");
  auto values = Values(*reader);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_utilization_ratio 0 iowait"), 0);
  EXPECT_DOUBLE_EQ(values.at("system_cpu_utilization_ratio 0 user"), 0.5);
  // One core is removed and another core is added.
  root_.Write("proc/stat", "cpu0 20 0 0 20 5 0 0 0\ncpu1 1 1 1 1\nbtime 5\n");
  EXPECT_THAT(Values(*reader), Contains(Key("system_cpu_time_seconds_total 1 idle")));
  EXPECT_TRUE(changed_);
  // If the file is missing, the series are kept with missing values.
  root_.Remove("proc/stat");
  ::testing::internal::CaptureStderr();
  auto again = NewCpuReader(context_);
  EXPECT_THAT(Values(*again), IsEmpty());
  ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(changed_);
}

TEST_F(ReadersTest, ReadsManyCoresAndLongInterruptLine) {
  std::string text = "cpu  1 1 1 1\n";
  for (int i = 0; i < 800; ++i)
    CatTo(text, "cpu", i, " 123456789 123456 12345678 123456789012 1234567 0 123456 0 0 0\n");
  text += "intr 99";
  for (int i = 0; i < 20'000; ++i) text += " 0";
  text += "\nbtime 1\n";
  root_.Write("proc/stat", text);
  auto reader = NewCpuReader(context_);
  EXPECT_EQ(Values(*reader).size(), 800u * 8);
}

TEST_F(ReadersTest, ReadsMemory) {
  root_.Write("proc/meminfo",
              "MemTotal:       1000 kB\nMemFree:         200 kB\nMemAvailable:    600 kB\nBuffers: "
              "         50 kB\n"
              "Cached:          300 kB\nSwapCached: x kB\nSReclaimable:     50 "
              "kB\nHugePages_Total:       0\n");
  auto reader = NewMemoryReader(context_);
  auto values = Values(*reader);
  EXPECT_TRUE(changed_);
  EXPECT_EQ(values.at("system_memory_usage_bytes used"), 400 * 1024);
  EXPECT_EQ(values.at("system_memory_usage_bytes free"), 200 * 1024);
  EXPECT_EQ(values.at("system_memory_usage_bytes cached"), 350 * 1024);
  EXPECT_EQ(values.at("system_memory_usage_bytes buffers"), 50 * 1024);
  EXPECT_EQ(values.at("system_memory_limit_bytes"), 1000 * 1024);
  EXPECT_DOUBLE_EQ(values.at("system_memory_utilization_ratio"), 0.4);
  root_.Write("proc/meminfo", "nonsense\n");
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_EQ(missing_, 6);
  EXPECT_EQ(Errors(), 1u);
  // Older kernels do not report available memory.
  root_.Write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 200 kB\nCached: 300 kB\n");
  EXPECT_DOUBLE_EQ(Values(*reader).at("system_memory_utilization_ratio"), 0.5);
}

TEST_F(ReadersTest, ReadsPhysicalInterfacesOnly) {
  const std::string head =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
      "drop fifo colls carrier "
      "compressed\n";
  root_.Write(
      "proc/net/dev",
      head +
          "    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  eth0:100 2 3 4 0 0 0 0 500 6 7 8 0 0 0 0\n"
          "vethab12: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n ib0: 1 2 3\n");
  auto reader = NewNetworkReader(context_);
  const auto values = Values(*reader);
  EXPECT_THAT(values, SizeIs(8));
  EXPECT_EQ(values.at("system_network_io_bytes_total eth0 receive"), 100);
  EXPECT_EQ(values.at("system_network_io_bytes_total eth0 transmit"), 500);
  EXPECT_EQ(values.at("system_network_packets_total eth0 receive"), 2);
  EXPECT_EQ(values.at("system_network_errors_total eth0 transmit"), 7);
  EXPECT_EQ(values.at("system_network_dropped_total eth0 receive"), 4);
  EXPECT_EQ(Errors(), 1u);  // the line of ib0 was truncated
  root_.Write(
      "proc/net/dev",
      head +
          "  eth0:100 2 3 4 0 0 0 0 500 6 7 8 0 0 0 0\n   ib0: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
  EXPECT_THAT(Values(*reader), SizeIs(16));
  EXPECT_TRUE(changed_);
  root_.Write("proc/net/dev", head);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_TRUE(changed_);
}

TEST_F(ReadersTest, InContainer_ReadsHostNetwork) {
  root_.Write("proc/net/dev", "eth0: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
  root_.Write("proc/1/net/dev", "ens5: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
  auto reader = NewNetworkReader(context_);
  EXPECT_THAT(Values(*reader), Contains(Key("system_network_io_bytes_total ens5 receive")));
}

TEST_F(ReadersTest, ReadsWholeDisksOnly) {
  root_.Write("proc/diskstats",
              "   8 0 sda 10 1 2000 3 20 4 4000 5 0 1500 7 0 0 0 0\n   8 1 sda1 10 1 2000 3 20 4 "
              "4000 5 0 1500 7\n"
              "   7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\n 259 0 nvme0n1 1 1 1 1 1 1 1 1 1 1 1\n "
              "garbage\n 8 2 sdb 1 2 3\n");
  root_.Write("sys/block/sda/dev", "8:0\n");
  root_.Write("sys/block/nvme0n1/dev", "259:0\n");
  root_.Write("sys/block/sdb/dev", "8:2\n");
  auto reader = NewDiskReader(context_);
  const auto values = Values(*reader);
  EXPECT_THAT(values, SizeIs(10));
  EXPECT_EQ(values.at("system_disk_io_bytes_total sda read"), 2000 * 512);
  EXPECT_EQ(values.at("system_disk_io_bytes_total sda write"), 4000 * 512);
  EXPECT_EQ(values.at("system_disk_operations_total sda read"), 10);
  EXPECT_EQ(values.at("system_disk_operations_total sda write"), 20);
  EXPECT_EQ(values.at("system_disk_io_time_seconds_total sda"), 1.5);
  EXPECT_EQ(Errors(), 1u);
}

TEST_F(ReadersTest, ReadsPressureIfSupported) {
  auto reader = NewPressureReader(context_);
  EXPECT_THAT(Values(*reader), IsEmpty());
  EXPECT_EQ(Errors(), 0u);  // the kernel may not support PSI
  root_.Write(
      "proc/pressure/io",
      "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=1000000\n");
  root_.Write("proc/pressure/cpu", "some avg10=0.00 total=7\n");
  auto values = Values(*reader);
  EXPECT_TRUE(changed_);
  EXPECT_EQ(values.at("system_pressure_stall_seconds_total some io"), 2.5);
  EXPECT_EQ(values.at("system_pressure_stall_seconds_total full io"), 1);
  EXPECT_EQ(values.at("system_pressure_stall_seconds_total some cpu"), 7e-6);
  EXPECT_EQ(missing_, 1);  // older kernels have no "full" line for the CPU
}

TEST_F(ReadersTest, ReadsLoadAverages) {
  root_.Write("proc/loadavg", "0.75 0.50 0.25 2/345 6789\n");
  auto reader = NewLoadReader(context_);
  EXPECT_EQ(Values(*reader).at("system_load_average_1m"), 0.75);
  root_.Write("proc/loadavg", "\n");
  EXPECT_THAT(Values(*reader), IsEmpty());
}

TEST_F(ReadersTest, ReadsProcessesOfJob) {
  const double hz = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  root_.Write("proc/17/stat",
              "17 (a) b (c) S 1 1 1 0 -1 4194304 1 2 3 4 250 50 0 0 20 0 1 0 12345 1 1\n");
  root_.Write("proc/17/statm", "1000 300 5 1 0 1 0\n");
  root_.Write("proc/18/stat", "18 (x) S 1 1 1 0 -1 4194304 1 2 3 4 1 1 0 0 20 0 1 0 12345 1 1\n");
  root_.Write("proc/18/statm", "1 2 3\n");
  auto reader = NewProcessReader(context_, {{3, 18}, {0, 16}, {0, 17}, {5, 99}});
  auto values = Values(*reader);
  EXPECT_EQ(values.size(), 6u);
  EXPECT_DOUBLE_EQ(values.at("process_cpu_seconds_total 0"), 300 / hz);
  EXPECT_DOUBLE_EQ(values.at("process_memory_usage_bytes 0"), 300 * page);
  EXPECT_DOUBLE_EQ(values.at("process_memory_usage_bytes 3"), 2 * page);
  EXPECT_DOUBLE_EQ(values.at("process_state 17 0"), 2);
  root_.Write("proc/17/schedstat", "3000000000 1250000000 77\n");
  values = Values(*reader);
  EXPECT_EQ(values.size(), 7u);  // schedstat of process 18 is missing
  EXPECT_DOUBLE_EQ(values.at("process_cpu_wait_seconds_total 0"), 1.25);
  root_.Write("proc/18/stat", "");
  EXPECT_EQ(Values(*reader).size(), 4u);
  EXPECT_TRUE(changed_);
  // A new process with the same PID is unrelated.
  root_.Write("proc/18/stat", "18 (y) S 1 1 1 0 -1 4194304 1 2 3 4 1 1 0 0 20 0 1 0 12345 1 1\n");
  EXPECT_EQ(Values(*reader).size(), 4u);
}

TEST_F(ReadersTest, EachProcessStateLetterHasNumber) {
  root_.Write("proc/17/statm", "1000 300 5 1 0 1 0\n");
  const std::vector<std::pair<std::string, double>> states = {
      {"R", 1}, {"S", 2}, {"D", 3}, {"T", 4}, {"t", 4}, {"Z", 0}, {"I", 0}};
  auto reader = NewProcessReader(context_, {{0, 17}});
  for (const auto& [letter, state] : states) {
    root_.Write("proc/17/stat", Cat("17 (a) R) ", letter,
                                    " 1 1 1 0 -1 4194304 1 2 3 4 250 50 0 0 20 0 1 0 12345 1 1\n"));
    EXPECT_DOUBLE_EQ(Values(*reader).at("process_state 17 0"), state) << letter;
  }
}

TEST_F(ReadersTest, ReadsCgroupOfJob) {
  auto reader = NewCgroupReader(context_, "/job_1");
  EXPECT_THAT(Values(*reader), IsEmpty());
  root_.Write("sys/fs/cgroup/job_1/cpu.stat", "usage_usec 1500000\nuser_usec 1\n");
  root_.Write("sys/fs/cgroup/job_1/memory.current", "4096\n");
  root_.Write("sys/fs/cgroup/job_1/memory.max", "max\n");
  root_.Write("sys/fs/cgroup/job_1/io.pressure",
              "some avg10=0 total=1000000\nfull avg10=0 total=500000\n");
  auto values = Values(*reader);
  EXPECT_TRUE(changed_);
  EXPECT_EQ(values.size(), 4u);
  EXPECT_EQ(values.at("cgroup_cpu_usage_seconds_total"), 1.5);
  EXPECT_EQ(values.at("cgroup_memory_usage_bytes"), 4096);
  EXPECT_EQ(values.at("cgroup_pressure_stall_seconds_total full io"), 0.5);
  root_.Write("sys/fs/cgroup/job_1/memory.max", "8192\n");
  EXPECT_EQ(Values(*reader).at("cgroup_memory_limit_bytes"), 8192);
}

TEST_F(ReadersTest, FindsCommonGroupOfProcesses) {
  auto group = [this](int pid, std::string_view path) {
    root_.Write(Cat("proc/", pid, "/cgroup"), Cat("0::", path, "\n"));
  };
  group(1, "/slurm/job_7/step_0/task_0");
  group(2, "/slurm/job_7/step_0/task_1");
  group(3, "/slurm/job_77/step_0/task_1");
  group(4, "/");
  group(5, "/slurm/job_7");
  group(6, "/../outside");
  root_.Write("proc/7/cgroup", "1:cpu:/old\n");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 1}}), "/slurm/job_7/step_0/task_0");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 1}, {1, 2}}), "/slurm/job_7/step_0");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 1}, {1, 5}}), "/slurm/job_7");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 5}, {1, 1}}), "/slurm/job_7");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 1}, {1, 3}}), "/slurm");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 1}, {1, 4}}), "");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 6}}), "");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 7}}), "");
  EXPECT_EQ(CgroupOf(root_.path(), {{0, 99}}), "");
  EXPECT_EQ(CgroupOf(root_.path(), {}), "");
}

TEST_F(ReadersTest, ReadsThisMachine) {
  const SystemContext real{{"/", "n1", &counters_}, &clock_, &event_clock_, &drivers_};
  auto cpu = NewCpuReader(real);
  Values(*cpu);
  EXPECT_THAT(Values(*cpu), Contains(Key("system_cpu_time_seconds_total 0 user")));
  auto memory = NewMemoryReader(real);
  const auto values = Values(*memory);
  EXPECT_GT(values.at("system_memory_utilization_ratio"), 0);
  EXPECT_LT(values.at("system_memory_utilization_ratio"), 1);
  auto self = NewProcessReader(real, {{0, getpid()}});
  EXPECT_GT(Values(*self).at("process_memory_usage_bytes 0"), 1e6);
}

// Every series must be in rules/metrics.yaml with the same labels.
TEST_F(ReadersTest, NamesAndLabelsMatchCatalog) {
  if (catalogue_.empty()) GTEST_SKIP() << "not run in the source folder";
  root_.Write("proc/stat", "cpu0 1 1 1 1 1 1 1 1\n");
  root_.Write("proc/meminfo", "MemTotal: 5 kB\n");
  root_.Write("proc/net/dev", "eth0: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
  root_.Write("proc/diskstats", "8 0 sda 1 1 1 1 1 1 1 1 1 1 1\n");
  root_.Write("proc/loadavg", "1 1 1\n");
  root_.Write("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 1 1\n");
  root_.Write("proc/net/rpc/nfs", "rpc 1 1 1\n");
  for (std::string_view file : {"state", "rate", "counters/port_rcv_data", "counters/link_downed",
                                "counters/symbol_error", "counters/port_xmit_wait"}) {
    root_.Write(Cat("sys/class/infiniband/mlx5_0/ports/1/", file), "1\n");
  }
  root_.Write("proc/17/stat",
              "17 (a) S 1 1 1 0 -1 4194304 1 2 3 4 250 50 0 0 20 0 1 0 12345 1 1\n");
  root_.Write("proc/17/statm", "1 2\n");
  for (std::string_view dir : {"proc/pressure/io", "sys/fs/cgroup/j/io.pressure"}) {
    root_.Write(dir, "some total=1\nfull total=1\n");
  }
  root_.Write("sys/class/infiniband/mlx5_0/device/net/eth2/mtu", "9000\n");
  root_.Write("sys/fs/cgroup/j/cpu.stat", "usage_usec 1\n");
  root_.Write("sys/fs/cgroup/j/memory.current", "1\n");
  root_.Write("sys/fs/cgroup/j/memory.max", "1\n");
  std::vector<std::unique_ptr<SeriesReader>> readers;
  readers.push_back(NewCpuReader(context_));
  readers.push_back(NewMemoryReader(context_));
  readers.push_back(NewNetworkReader(context_));
  readers.push_back(NewDiskReader(context_));
  readers.push_back(NewPressureReader(context_));
  readers.push_back(NewLoadReader(context_));
  readers.push_back(NewTcpReader(context_));
  readers.push_back(NewInfinibandReader(context_));
  drivers_.devices = {{"eth2", {{{"rx_prio3_pause", 1}}}}};
  readers.push_back(NewPfcReader(context_));
  readers.push_back(NewNfsReader(context_));
  readers.push_back(NewProcessReader(context_, {{0, 17}}));
  readers.push_back(NewCgroupReader(context_, "j"));
  std::set<std::string> names;
  for (auto& reader : readers) {
    EXPECT_TRUE(reader->Read());
    std::vector<SeriesDescriptor> series;
    reader->Describe(&series);
    for (const SeriesDescriptor& one : series) {
      names.insert(std::string(one.labels.Name()));
      catalogue_.Check(one);
    }
  }
  EXPECT_EQ(names.size(), 32u);
}

// Reader with values set by the test.
class FakeReader final : public SeriesReader {
 public:
  std::vector<std::pair<std::string, double>> values;
  bool Read() override {
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    return std::exchange(names_, names) != names;
  }
  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const auto& [name, value] : values)
      out->push_back({Labels({{kMetricName, name}}), SeriesKind::kGauge});
  }
  double* Fill(double* row) const override {
    for (const auto& [name, value] : values) *row++ = value;
    return row;
  }

 private:
  std::vector<std::string> names_;
};

TEST(StreamTable, RowsKeepTheirSchema) {
  auto owned = std::make_unique<FakeReader>();
  FakeReader& reader = *owned;
  std::vector<std::unique_ptr<SeriesReader>> readers;
  readers.push_back(std::move(owned));
  StreamTable table(7, std::move(readers));
  uint64_t announced = 0, late = 0;
  Batch batch;
  table.Sample(1);
  table.AppendTo(true, &announced, &batch);
  EXPECT_TRUE(batch.frames.empty() && batch.schemas.empty());  // there are no series yet

  reader.values = {{"a", 1}};
  table.Sample(2);
  table.Sample(3);
  reader.values = {{"a", 2}, {"b", 3}};
  table.Sample(4);
  reader.values = {{"a", 4}};
  table.Sample(5);
  table.AppendTo(false, &announced, &batch);
  ASSERT_EQ(batch.frames.size(), 3u);
  EXPECT_THAT(batch.frames[0].times, ::testing::ElementsAre(2, 3));
  EXPECT_THAT(batch.frames[1].values, ::testing::ElementsAre(2, 3));
  EXPECT_THAT(batch.frames[2].values, ::testing::ElementsAre(4));
  EXPECT_EQ(batch.frames[0].schema_id, batch.frames[2].schema_id);
  ASSERT_EQ(batch.schemas.size(), 2u);  // each schema occurs once, although one was used twice
  EXPECT_EQ(batch.schemas[0]->stream, 7u);
  table.Clear();

  table.Sample(6);
  Batch next;
  table.AppendTo(false, &announced, &next);
  EXPECT_TRUE(next.schemas.empty());
  table.AppendTo(false, &late, &next);  // this receiver has no schema yet
  EXPECT_EQ(next.schemas.size(), 1u);
  table.AppendTo(true, &announced, &next);
  EXPECT_EQ(next.schemas.size(), 1u);  // the schema is not included twice

  // If all series are removed, a schema without series and one row are published.
  table.Clear();
  table.SetReaders({});
  table.Sample(7);
  Batch last;
  table.AppendTo(false, &announced, &last);
  ASSERT_EQ(last.schemas.size(), 1u);
  EXPECT_TRUE(last.schemas[0]->series.empty());
  ASSERT_EQ(last.frames.size(), 1u);
  EXPECT_THAT(last.frames[0].times, ::testing::ElementsAre(7));
}

}  // namespace
}  // namespace pitwall::collector
