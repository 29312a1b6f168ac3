// Tests the assignment of GPU series to several jobs on one node, and the related notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/gpu/testing/fake_nvml.h"
#include "services/collector/ranks/testing/decode.h"
#include "services/collector/testing/collector_fixture.h"

namespace pitwall::collector {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = kNanosPerSecond;
// The engine clears the notice only if it receives the same reason with an empty list.
constexpr const char* kWithheld = "gpu_split_unknown of some";
constexpr const char* kLifted = "gpu_split_unknown of none";

class GpuSplitTest : public CollectorTest {
 protected:
  GpuSplitTest() {
    options_.gpus = true;
    options_.nvml_library = PITWALL_FAKE_NVML;
  }
  static std::vector<std::string> Notices(const std::vector<ReadBatch>& batches) {
    std::vector<std::string> notices;
    for (const ReadBatch& batch : batches) {
      for (const JobEvent& event : batch.events) {
        if (event.kind != JobEvent::Kind::kNotice) continue;
        notices.push_back(Cat(event.reason, event.series.empty() ? " of none" : " of some"));
        if (!event.series.empty()) {
          EXPECT_THAT(event.series, Contains("hw_gpu_utilization_ratio"));
        }
      }
    }
    return notices;
  }
  std::vector<ReadBatch> Since(size_t record, std::string_view job) const {
    const auto all = DecodeAll(appender_.records());
    return Of({all.begin() + static_cast<ptrdiff_t>(record), all.end()}, job);
  }
  TestClient Train(std::string_view job) const {
    TestClient client(options_.socket_path);
    client.Send(HelloOf(0, clock_.WallNs(), job));
    client.ReadWelcome();
    return client;
  }
  void Kill(TestClient* client) {
    const auto lost = [this] { return Counter("pitwall_collector_clients_closed_total", "lost"); };
    const double before = lost();
    client->Close();
    while (lost() == before) {
    }
  }
  FakeNvml nvml_;
};

TEST_F(GpuSplitTest, UnknownSplit_AssignsGpusOnlyToNode) {
  options_.drop_dir = root_.At("jobs");
  root_.Write("jobs/a", "job_id=a\n");
  Start();
  Advance(4 * kSecond);
  root_.Write("jobs/b", "job_id=b\n");
  Advance(4 * kSecond);
  const size_t unknown_from = appender_.records().size();
  Advance(4 * kSecond);
  const size_t unknown_until = appender_.records().size();
  root_.Write("jobs/a", "job_id=a\ngpus=0\n");
  root_.Write("jobs/b", "job_id=b\ngpus=1,2\n");
  Advance(6 * kSecond);
  const auto all = Stop();
  const auto a = Of(all, "a");
  EXPECT_TRUE(a[4].Has("hw_gpu_utilization_ratio{gpu=1"));  // the only job receives all GPUs
  for (size_t i = unknown_from; i < unknown_until; ++i) {
    if (all[i].job == "node:n1") continue;
    EXPECT_FALSE(all[i].Has("hw_")) << all[i].job;
  }
  for (const auto& job : {a, Of(all, "b")}) {
    EXPECT_THAT(Notices(job), ElementsAre(kWithheld, kLifted));
  }
  const auto& last_a = a[a.size() - 2];
  EXPECT_TRUE(last_a.Has("hw_power_watts{gpu=0}"));
  EXPECT_FALSE(last_a.Has("hw_power_watts{gpu=1}"));
  const auto b = Of(all, "b");
  EXPECT_FALSE(b[b.size() - 2].Has("hw_power_watts{gpu=0}"));
  EXPECT_TRUE(b[b.size() - 2].Has("hw_power_watts{gpu=1}"));
  size_t with_gpus = 0;
  for (const ReadBatch& batch : Of(all, "node:n1"))
    with_gpus += batch.Has("hw_gpu_memory_limit_bytes{gpu=0}");
  EXPECT_GT(with_gpus, 15u);
}

// Node health rules need the series of all GPUs, regardless of which job uses them.
TEST_F(GpuSplitTest, NodeReceivesXidErrorsOfJobsGpu) {
  options_.drop_dir = root_.At("jobs");
  root_.Write("jobs/a", "job_id=a\ngpus=0\n");
  root_.Write("jobs/b", "job_id=b\ngpus=1,2\n");
  Start();
  Advance(4 * kSecond);
  nvml_.RaiseXid(0, 79);
  nvml_.AwaitReceived();
  Advance(4 * kSecond);
  const auto all = Stop();
  const auto count = [&](std::string_view job) {
    const auto batches = Of(all, job);
    return std::count_if(batches.begin(), batches.end(),
                         [](const ReadBatch& batch) { return batch.Has("gpu_xid_errors_total"); });
  };
  EXPECT_GT(count("a"), 0);
  EXPECT_EQ(count("b"), 0);
  EXPECT_GT(count("node:n1"), 0);
}

// A job that was killed without a goodbye stays bound for a long time, but the next job gets the
// GPUs.
TEST_F(GpuSplitTest, JobWithoutClients_FreesItsGpus) {
  options_.socket_path = root_.At("socket");
  Start();
  TestClient first = Train("a");
  Advance(3 * kSecond);
  Kill(&first);
  Advance(2 * kSecond);
  size_t from = appender_.records().size();
  TestClient second = Train("b");
  Advance(3 * kSecond);
  EXPECT_THAT(collector_->BoundJobs(), ElementsAre("a", "b"));
  EXPECT_TRUE(Since(from, "b").back().Has("hw_gpu_utilization_ratio{gpu=1"));
  EXPECT_FALSE(Since(from, "a").back().Has("hw_"));
  EXPECT_THAT(Notices(Since(0, "b")), IsEmpty());
  EXPECT_THAT(Notices(Since(0, "a")), ElementsAre(kWithheld));

  // The first job reconnects, so it is unknown which job uses the GPUs.
  TestClient again = Train("a");
  Advance(3 * kSecond);
  EXPECT_THAT(Notices(Since(0, "b")), ElementsAre(kWithheld));
  EXPECT_THAT(Notices(Since(0, "a")), ElementsAre(kWithheld));
  Kill(&second);
  from = appender_.records().size();
  Advance(3 * kSecond);
  EXPECT_TRUE(Since(from, "a").back().Has("hw_gpu_utilization_ratio{gpu=1"));
  EXPECT_THAT(Notices(Since(0, "a")), ElementsAre(kWithheld, kLifted));
  EXPECT_THAT(Notices(Since(0, "b")), ElementsAre(kWithheld));
}

}  // namespace
}  // namespace pitwall::collector
