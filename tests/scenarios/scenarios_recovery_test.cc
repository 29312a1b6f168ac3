// Scenario 18 of time-model.md, section 9: the newest snapshot is lost, both snapshots are lost, or
// the log is truncated below the committed position. The state must be rebuilt, or the partition
// must be in Error and not ready. Orphans and silent gaps must never occur.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "services/base/time.h"
#include "services/io/topics.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/snapshot_topic.h"
#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

using ::testing::HasSubstr;

const std::string kRules = EverySecond(R"rules(
  - {alert: LowGPU, expr: "avg_over_time(hw_gpu_utilization_ratio[30s]) < 0.4", for: 10s}
  - {record: "job:gpu:avg", expr: "avg(hw_gpu_utilization_ratio)"}
  - {alert: Mean, expr: "avg_over_time(job:gpu:avg[1m]) < 0.45", for: 20s, keep_firing_for: 30s}
)rules");

class Recovery : public Scenario {
 protected:
  void SetUp() override {
    Scenario::SetUp();
    options_.poll_records = 12;
    options_.snapshot_interval = Duration::Seconds(10);
  }
  // Two nodes, one of which is low for 100 out of every 150 seconds.
  std::vector<ScriptRecord> Input(int seconds) {
    std::string script = Cat("owner loads ", Publish(kRules), "\ncollector@a,collector@b beats\n");
    for (int second = 1; second <= seconds; ++second) {
      CatTo(script, "collector@a sends hw_gpu_utilization_ratio=", second % 150 < 100 ? 0.1 : 0.9,
            " @", second,
            "s\ncollector@b sends hw_gpu_utilization_ratio=", 0.7 + 0.001 * (second % 7), " @",
            second, "s\n");
    }
    Plan plan(Base());
    plan.Play(Cat(script, "owner ticks @1s..", seconds, "s\n"));
    return plan.records;
  }
  // Writes the next `count` records and processes them with an owner that is then killed.
  void Play(std::vector<ScriptRecord>* rest, size_t count) {
    count = std::min(count, rest->size());
    Write({rest->begin(), rest->begin() + static_cast<int64_t>(count)});
    rest->erase(rest->begin(), rest->begin() + static_cast<int64_t>(count));
    const auto processor = Start();
    Drain(processor.get());
    rebuilt_ += processor->stats().replay.rebuilt_jobs;
    snapshots_ += processor->stats().snapshots;
  }
  // Returns the newest record of each key in the partition's state.
  std::map<std::string, Record> State() {
    std::map<std::string, Record> state;
    auto reader = log()->OpenReader({std::string(kStateTopic), partition()}, kFromStart);
    EXPECT_TRUE(reader.ok()) << reader.status();
    const auto end = (*reader)->EndOffset();
    std::vector<Record> records;
    while ((*reader)->position() < *end)
      EXPECT_TRUE((*reader)->Poll(1000, 8 << 20, Duration::Zero(), &records).ok());
    for (Record& record : records) {
      if (record.tombstone) {
        state.erase(record.key);
      } else {
        state[record.key] = std::move(record);
      }
    }
    return state;
  }
  // Returns the keys of the job's slots, newest first.
  std::vector<std::string> SlotsByAge() {
    std::vector<std::pair<int64_t, std::string>> slots;
    for (const auto& [key, record] : State()) slots.emplace_back(-record.offset, key);
    std::sort(slots.begin(), slots.end());
    std::vector<std::string> keys;
    for (auto& [offset, key] : slots) keys.push_back(std::move(key));
    return keys;
  }
  void PutState(const std::string& key, std::optional<std::string> value) {
    auto appender = log()->OpenAppender();
    ASSERT_TRUE(appender.ok());
    ASSERT_TRUE((*appender)
                    ->Append({{.topic = std::string(kStateTopic),
                               .partition = partition(),
                               .key = key,
                               .value = value.value_or(""),
                               .tombstone = !value.has_value()}})
                    .ok());
  }
  uint64_t rebuilt_ = 0;
  uint64_t snapshots_ = 0;
};

TEST_P(Recovery, LostState_EventsAreEqual) {
  std::vector<ScriptRecord> rest = Input(420);
  Play(&rest, 460);
  ASSERT_GE(snapshots_, 3U);
  ASSERT_EQ(SlotsByAge().size(), 2U);
  // The newest slot is lost.
  PutState(SlotsByAge()[0], std::nullopt);
  Play(&rest, 300);
  // Both slots are lost.
  for (const std::string& key : SlotsByAge()) PutState(key, std::nullopt);
  const uint64_t before = rebuilt_;
  Play(&rest, 300);
  EXPECT_EQ(rebuilt_, before + 1);
  // No slot is lost.
  Play(&rest, rest.size());
  EXPECT_EQ(rebuilt_, before + 1);
  EXPECT_GE(Issues(Events()).size(), 6U);
  EXPECT_EQ(Encoded(Events()), Encoded(Reference()));
}

TEST_P(Recovery, FlippedBitOrLostSlot_EventsAreEqual) {
  const uint32_t seed = 20261122;
  std::mt19937 random(seed);
  std::vector<ScriptRecord> rest = Input(420);
  Play(&rest, 90);
  int damages = 0;
  while (!rest.empty()) {
    SCOPED_TRACE(Cat("damage ", damages));
    const std::vector<std::string> slots = SlotsByAge();
    ASSERT_FALSE(slots.empty());
    const auto state = State();
    // Damages the newer slot, the older slot, or both, by flipping one bit or deleting the slot.
    const int what = damages % 6;
    for (size_t i = 0; i < slots.size(); ++i) {
      if ((what / 2 == 0 && i != 0) || (what / 2 == 1 && i != 1)) continue;
      if (what % 2 == 1) {
        PutState(slots[i], std::nullopt);
        continue;
      }
      std::string value = state.at(slots[i]).value;
      // The header is short and the payload is long, so every second flip targets the first 100
      // bytes.
      const size_t bits =
          (damages / 6 % 2 == 0 ? std::min<size_t>(100, value.size()) : value.size()) * 8;
      const size_t bit = random() % bits;
      value[bit / 8] = static_cast<char>(value[bit / 8] ^ (1 << (bit % 8)));
      PutState(slots[i], value);
    }
    ++damages;
    Play(&rest, 45);
  }
  EXPECT_GE(damages, 20);
  EXPECT_GE(rebuilt_, 5U);
  EXPECT_EQ(Encoded(Events()), Encoded(Reference()));
}

TEST_P(Recovery, LogTruncatedBelowCommit_StopsPartitionUntilAccepted) {
  std::vector<ScriptRecord> rest = Input(200);
  Play(&rest, 200);
  ASSERT_THAT(Issues(Events()), ::testing::Contains(HasSubstr("found LowGPU")));
  // The committed offset is beyond the end of the log, as if the topic had been truncated.
  const TopicPartition input{std::string(kTelemetryTopic), partition()};
  {
    const auto committed = log()->Committed(options_.group, input);
    ASSERT_TRUE(committed.ok() && committed->has_value());
    auto metadata = processor::ParseCommitMetadata((*committed)->metadata);
    ASSERT_TRUE(metadata.ok());
    auto committer = log()->OpenCommitter(Cat(options_.group, "-", input.topic, "-", partition()));
    ASSERT_TRUE(committer.ok());
    const Status applied = (*committer)
                               ->Apply({.group = options_.group,
                                        .input = input,
                                        .next_offset = (*committed)->offset + 1000,
                                        .metadata = processor::EncodeCommitMetadata(*metadata),
                                        .outputs = {}});
    ASSERT_TRUE(applied.ok()) << applied;
  }
  const size_t before = Events().size();
  {
    processor::RuleSets rules(log());
    processor::PartitionProcessor stopped(partition(), &clock_, log(), &rules, options_);
    const Status status = stopped.Recover();
    EXPECT_THAT(std::string(status.message()), HasSubstr("log_truncated"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("--accept-log-reset"));
    EXPECT_TRUE(stopped.stats().recovering) << "not ready";
  }
  EXPECT_EQ(Events().size(), before);
  options_.accept_log_reset = true;
  Play(&rest, rest.size());
  // No event is suppressed, all open issues have ended, and no event ends an issue that was not
  // reported.
  std::set<std::string> open;
  for (const IssueEvent& event : Events()) {
    if (event.type == EventType::kIssueFound) {
      EXPECT_TRUE(open.insert(IssueKey(event)).second);
    }
    if (event.type == EventType::kIssueResolved) {
      EXPECT_EQ(open.erase(IssueKey(event)), 1U);
    }
  }
  const std::vector<IssueEvent> all = Events();
  EXPECT_THAT(Issues({all.begin() + static_cast<int64_t>(before), all.end()}),
              ::testing::Contains(HasSubstr("LowGPU")));
  EXPECT_EQ(all[before].end_reason, EndReason::kNoData);
}

INSTANTIATE_TEST_SUITE_P(Logs, Recovery, testing::Range<size_t>(0, LogKinds().size()),
                         [](const auto& test) { return LogKinds()[test.param].name; });

}  // namespace
}  // namespace pitwall::scenarios
