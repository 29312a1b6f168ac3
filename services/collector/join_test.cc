// Tests the order in which sources join a job. No sample from the node may be late (time-model.md
// 1.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "services/base/text/strings.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/collector.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/ranks/testing/decode.h"
#include "services/self_metrics/testing/metric_value.h"
#include "tests/fakes/fake_appender.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kMs = kNanosPerMilli;
constexpr int64_t kSecond = kNanosPerSecond;

class JoinTest : public ::testing::Test {
 protected:
  JoinTest() {
    root_.Write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\n");
    options_.node = "n1";
    options_.root = root_.path();
    options_.gpus = false;
    options_.interval_ns = 200 * kMs;
    options_.socket_path = root_.At("socket");
    options_.new_boot_id = [n = 0]() mutable { return Cat("boot", ++n); };
  }

  void Start() {
    auto created = Collector::Create(options_, clock_, &appender_, &exposition_);
    ASSERT_TRUE(created.ok()) << created.status();
    collector_ = *std::move(created);
    ASSERT_TRUE(collector_->Start().ok());
    Settle();
  }
  void Settle() { clock_.AwaitWaiters(2); }
  void Advance(int64_t ns) {
    for (; ns > 0; ns -= 100 * kMs) {
      Settle();
      clock_.Advance(std::min(ns, 100 * kMs));
      Settle();
    }
  }
  double Messages() const {
    return self_metrics::MetricValue(exposition_, "pitwall_collector_client_messages_total")
        .value();
  }
  // Simulates a client that sends promises as fast as possible and is ahead of the node.
  void Train(TestClient* client, int64_t ns) {
    for (; ns > 0; ns -= 100 * kMs) {
      const double before = Messages();
      client->Send(UpdateOf(++update_, clock_.WallNs()));
      while (Messages() == before) {
      }
      Advance(100 * kMs);
    }
  }

  // Checks for late samples as the processor does: the watermark is the minimum promise of the
  // known sources, in log order.
  static void ExpectNothingLate(const std::vector<ReadBatch>& batches) {
    std::map<std::string, int64_t> promises;
    int64_t watermark = INT64_MIN;
    for (size_t i = 0; i < batches.size(); ++i) {
      const ReadBatch& batch = batches[i];
      for (const int64_t tick : batch.ticks) EXPECT_GT(tick, watermark) << batch.source << " " << i;
      promises[batch.source] = batch.promise_ns;
      if (batch.goodbye) promises.erase(batch.source);
      int64_t least = INT64_MAX;
      for (const auto& [source, promise] : promises) least = std::min(least, promise);
      if (!promises.empty()) watermark = std::max(watermark, least);
    }
  }
  // Checks that the node's announcement precedes the client's first promise, and that the
  // announcement's promise is before the node's first row.
  static void ExpectTheNodeAnnouncedFirst(const std::vector<ReadBatch>& batches, int64_t start) {
    const auto node = std::find_if(batches.begin(), batches.end(),
                                   [](const auto& batch) { return batch.source == "node@n1"; });
    const auto promise = std::find_if(batches.begin(), batches.end(), [&](const auto& batch) {
      return batch.source != "node@n1" && batch.promise_ns >= start;
    });
    ASSERT_NE(node, batches.end());
    ASSERT_NE(promise, batches.end());
    EXPECT_LT(node - batches.begin(), promise - batches.begin());
    EXPECT_EQ(node->sequence, 1u);
    const auto row = std::find_if(batches.begin(), batches.end(), [](const auto& batch) {
      return batch.source == "node@n1" && !batch.ticks.empty();
    });
    ASSERT_NE(row, batches.end());
    EXPECT_EQ(row->boot_id, node->boot_id);
    EXPECT_EQ(row->info.start, node->info.start);
    EXPECT_LT(node->promise_ns, row->ticks[0]);
    EXPECT_GT(row->schemas, 0u);
  }

  TestRoot root_;
  fakes::FakeClock clock_{1'767'225'600 * kSecond + 123'456'789};
  fakes::FakeAppender appender_;
  self_metrics::Exposition exposition_;
  Options options_;
  std::unique_ptr<Collector> collector_;
  uint64_t update_ = 0;
};

TEST_F(JoinTest, JobKnownFromClient_NodeAnnouncesItFirst) {
  Start();
  Advance(2 * kSecond);
  const int64_t start = clock_.WallNs();
  clock_.Advance(60 * kMs);
  TestClient client(options_.socket_path);
  client.Send(HelloOf(0, start));
  client.ReadWelcome();
  Train(&client, 2 * kSecond);
  collector_->Stop();
  const auto batches = Of(DecodeAll(appender_.records()), "job-1");
  EXPECT_EQ(batches[0].source, "rank-0@n1");
  EXPECT_EQ(batches[0].promise_ns, start - 1);
  EXPECT_EQ(batches[1].source, "node@n1");
  ExpectTheNodeAnnouncedFirst(batches, start);
  ExpectNothingLate(batches);
}

TEST_F(JoinTest, ClientBeforeFirstNodeBatch_IsNotLate) {
  options_.jobs.push_back({"job-1", "bert", {}, {}, {}, ""});
  Start();
  const int64_t start = clock_.WallNs();
  TestClient client(options_.socket_path);
  client.Send(HelloOf(0, start));
  client.ReadWelcome();
  Train(&client, 2 * kSecond);
  collector_->Stop();
  const auto batches = Of(DecodeAll(appender_.records()), "job-1");
  ExpectTheNodeAnnouncedFirst(batches, start);
  ExpectNothingLate(batches);
}

// Without slack, the promise of a tick is the tick itself. The promise of the first tick must not
// be sent before its row.
TEST_F(JoinTest, RowIsNeverPromisedBeforeItIsSent) {
  options_.jobs.push_back({"job-1", "bert", {}, {}, {}, ""});
  options_.join_slack_ns = 0;
  options_.socket_path = "";
  Start();
  Advance(2 * kSecond);
  collector_->Stop();
  for (const char* job : {"job-1", "node:n1"}) {
    const auto batches = Of(DecodeAll(appender_.records()), job);
    ASSERT_GT(batches.size(), 2u);
    ExpectNothingLate(batches);
  }
}

// The job is bound without labels. Each client label is published once.
TEST_F(JoinTest, ClientLabelsAreAddedToBoundJob) {
  options_.jobs.push_back({"job-1", "bert", {}, {}, {}, ""});
  Start();
  Advance(kSecond);
  std::vector<std::unique_ptr<TestClient>> clients;
  const auto join = [&](int rank, std::string_view name, std::string_view value) {
    auto hello = HelloOf(rank, clock_.WallNs());
    auto* label = hello.mutable_hello()->add_labels();
    label->set_name(std::string(name));
    label->set_value(std::string(value));
    clients.push_back(std::make_unique<TestClient>(options_.socket_path));
    clients.back()->Send(hello);
    clients.back()->ReadWelcome();
  };
  join(0, "config_hash", "7f3a");
  join(1, "config_hash", "7f3a");
  join(2, "team", "nlp");
  join(3, "team", "vision");
  Advance(kSecond);
  collector_->Stop();
  std::vector<std::string> published;
  for (const ReadBatch& batch : Of(DecodeAll(appender_.records()), "job-1")) {
    for (const JobEvent& event : batch.events) {
      if (event.kind != JobEvent::Kind::kStarted) continue;
      for (const Label& label : event.labels)
        published.push_back(Cat(label.name, "=", label.value));
    }
  }
  EXPECT_THAT(published, testing::ElementsAre("config_hash=7f3a", "team=nlp", "team=vision"));
}

// A job that is bound again after its release is announced with a new boot ID.
TEST_F(JoinTest, ReboundJobIsAnnouncedAgain) {
  options_.grace.completed_ns = kSecond;
  options_.grace.lost_ns = kSecond;
  Start();
  std::vector<std::string> boots;
  for (int run = 0; run < 2; ++run) {
    const size_t from = appender_.records().size();
    const int64_t start = clock_.WallNs();
    auto hello = HelloOf(0, start);
    hello.mutable_hello()->set_boot_id(Cat("run-", run));
    {
      TestClient client(options_.socket_path);
      client.Send(hello);
      client.ReadWelcome();
      Train(&client, kSecond);
    }
    while (!collector_->BoundJobs().empty()) Advance(100 * kMs);
    Advance(100 * kMs);
    const auto all = DecodeAll(appender_.records());
    const auto batches = Of({all.begin() + static_cast<ptrdiff_t>(from), all.end()}, "job-1");
    ExpectTheNodeAnnouncedFirst(batches, start);
    EXPECT_TRUE(batches.back().goodbye);
    EXPECT_EQ(batches.back().source, "node@n1");
    boots.push_back(batches.back().boot_id);
  }
  EXPECT_NE(boots[0], boots[1]);
  collector_->Stop();
}

// The job ends before the sampler has seen it, but its end is still published.
TEST_F(JoinTest, JobEndsBetweenTwoTicks_EndIsPublished) {
  options_.interval_ns = kSecond;
  options_.grace.completed_ns = 0;
  Start();
  TestClient client(options_.socket_path);
  client.Send(HelloOf(0, clock_.WallNs()));
  client.ReadWelcome();
  client.Send(GoodbyeOf("completed"));
  client.AwaitClosed();
  Advance(2 * kSecond);
  collector_->Stop();
  const auto batches = Of(DecodeAll(appender_.records()), "job-1");
  ASSERT_EQ(batches.back().source, "node@n1");
  EXPECT_TRUE(batches.back().goodbye);
  ASSERT_EQ(batches.back().events.size(), 1u);
  EXPECT_EQ(batches.back().events[0].kind, JobEvent::Kind::kEnded);
}

}  // namespace
}  // namespace pitwall::collector
