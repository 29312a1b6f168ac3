// Scenario 17 of time-model.md: writes to one partition fail for 30 s. The collectors' publishers
// use the real log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "services/base/mutex.h"
#include "services/base/text/stable_hash.h"
#include "services/collector/publishing/publisher.h"
#include "services/io/topics.h"
#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

// A log in which writes to one job's partition fail for a while.
class OnePartitionFails final : public Appender {
 public:
  OnePartitionFails(std::unique_ptr<Appender> inner, std::string job)
      : inner_(std::move(inner)), job_(std::move(job)) {}
  Status Append(std::vector<OutgoingRecord> records) override {
    bool bad = false;
    for (const OutgoingRecord& record : records) bad |= record.key == job_;
    if (bad && failing) return Unavailable("the partition has no leader");
    const size_t count = records.size();
    const Status status = inner_->Append(std::move(records));
    if (status.ok()) (bad ? bad_records : good_records) += count;
    return status;
  }
  std::atomic<bool> failing{false};
  std::atomic<size_t> bad_records{0};
  std::atomic<size_t> good_records{0};

 private:
  const std::unique_ptr<Appender> inner_;
  const std::string job_;
};

// Returns a job name that maps to the partition (of 64 partitions).
std::string JobIn(int32_t partition) {
  for (int i = 0;; ++i) {
    std::string name = Cat("job-", i);
    if (PartitionOf(name, 64) == partition) return name;
  }
}

constexpr char kRules[] = R"(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: NodeGone, expr: "count(hw_gpu_utilization_ratio) < 2"}
  - {alert: Low, expr: "hw_gpu_utilization_ratio < 0.5"}
)";

TEST_P(Scenario, S17_WritesToOnePartitionFailForThirtySeconds) {
  telemetry_script::ScriptedSources sources;
  Write(sources.Play(Cat("owner loads ", Publish(kRules)), Base()));
  const std::string good = JobIn(partition());
  const std::string bad = JobIn(partition() == 63 ? 62 : 63);  // not used by other scenarios
  auto inner = log()->OpenAppender();
  ASSERT_TRUE(inner.ok()) << inner.status();
  OnePartitionFails appender(*std::move(inner), bad);
  collector::Counters counters;
  collector::ClientCursors cursors;
  collector::PublisherOptions options;
  options.topic = std::string(kTelemetryTopic);
  options.spool_dir = testing::TempDir() + Cat("/spool-", GetParam(), "-", partition());
  collector::Publisher publisher(options, clock_, &appender, &counters, &cursors);
  ASSERT_TRUE(publisher.Start().ok());

  // Both jobs run on two nodes. The owner of each partition writes a tick each second while the
  // partition accepts writes.
  size_t good_offered = 0;
  size_t bad_offered = 0;
  int64_t now = Base();
  const auto offer = [&](std::string_view action) {
    clock_.SetWall(now);
    for (const std::string& job : {good, bad}) {
      for (ScriptRecord& record : sources.Play(Cat(job, "/collector@node-0..1 ", action), now)) {
        (job == good ? good_offered : bad_offered) += 1;
        publisher.Offer(job, std::move(record.value));
      }
    }
  };
  offer("beats");  // all sources join first
  now += kSecond;
  for (int second = 0; second < 90; ++second) {
    appender.failing = second >= 30 && second < 60;
    offer(second >= 40 && second < 45 ? "sends hw_gpu_utilization_ratio=0.1"
                                      : "sends hw_gpu_utilization_ratio=0.9");
    // Records for the healthy partition are written immediately, without any time passing.
    while (appender.good_records < good_offered) {
    }
    now += kSecond;
    Write(sources.Play("owner ticks", now));  // of the healthy partition
    clock_.AwaitWaiters(1);
    clock_.Advance(kSecond);
  }
  clock_.AwaitWaiters(1);
  clock_.Advance(6 * kSecond);  // the longest pause between retries
  while (appender.bad_records < bad_offered) {
  }
  publisher.Stop();
  EXPECT_EQ(counters.dropped_spool_full + counters.dropped_queue_full + counters.dropped_at_stop,
            0u);
  EXPECT_EQ(appender.bad_records, bad_offered);

  auto processor = Start();
  Drain(processor.get());
  // No source is late or idle (NodeGone), and only the real issue is reported.
  EXPECT_EQ(Dropped(Drop::kLate), 0u);
  EXPECT_THAT(Issues(Events()), testing::ElementsAre(testing::StartsWith("found Low"),
                                                     testing::StartsWith("found Low"),
                                                     testing::StartsWith("resolved Low"),
                                                     testing::StartsWith("resolved Low")));
}

}  // namespace
}  // namespace pitwall::scenarios
