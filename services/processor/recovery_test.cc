// Tests for recovery after a partition loses its state, log, or owner (issue 10, A2, A4, and A9).
// Scenario 18 in tests/scenarios covers both kinds of log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"
#include "services/processor/testing/partition_fixture.h"

namespace pitwall::processor {
namespace {

using ::testing::HasSubstr;

constexpr char kRules[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: High, expr: "avg_over_time(m[10s]) > 0.5"}
)rules";

class RecoveryTest : public PartitionFixture {
 protected:
  RecoveryTest() {
    Publish(kRules);
    options_.snapshot_interval = Duration::Seconds(2);
    options_.owner = "first";
    EXPECT_TRUE(Open().ok());
  }
  void LoseAllSnapshots() {
    std::set<std::string> keys;
    for (const Record& record : log_.Records(kStateTopic)) keys.insert(record.key);
    ASSERT_GE(keys.size(), 2U);
    for (const std::string& key : keys) Append(kStateTopic, key, "", /*tombstone=*/true);
  }
  std::vector<IssueEvent> Events() {
    std::vector<IssueEvent> events;
    for (const Record& record : log_.Records(kIssuesTopic))
      events.push_back(*cloudevents::DecodeCloudEvent(record.value));
    return events;
  }
  // Checks that each ended issue was found first and ended at most once. Returns the number of open
  // issues.
  size_t CheckIssueEvents() {
    std::map<std::string, int> open;  // by issue ID
    std::map<std::string, std::string> by_key;
    for (const IssueEvent& event : Events()) {
      if (event.type == EventType::kIssueFound) {
        EXPECT_EQ(by_key.count(IssueKey(event)), 0U) << "found twice without an end";
        by_key[IssueKey(event)] = IssueId(event);
      } else if (event.type == EventType::kIssueResolved) {
        EXPECT_EQ(by_key.count(IssueKey(event)), 1U) << "an end without a beginning";
        EXPECT_EQ(by_key[IssueKey(event)], IssueId(event));
        by_key.erase(IssueKey(event));
      }
    }
    return by_key.size();
  }
  std::vector<RuleStatus> PublishedStatuses() {
    std::vector<RuleStatus> statuses;
    for (const IssueEvent& event : Events()) {
      if (event.type == EventType::kRuleStatus) statuses.push_back(event.status);
    }
    return statuses;
  }
};

TEST_F(RecoveryTest, NoSnapshot_JobIsRebuiltFromStartOfLog) {
  Feed(12, 1);
  ASSERT_EQ(CheckIssueEvents(), 1U);
  LoseAllSnapshots();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(owner_->stats().replay.rebuilt_jobs, 1U);
  Feed(30, 0);
  EXPECT_EQ(CheckIssueEvents(), 0U);
  EXPECT_EQ(Events().back().end_reason == EndReason::kNoData, false);
  EXPECT_EQ(owner_->stats().jobs.history_lost, 0U);
}

TEST_F(RecoveryTest, TruncatedLog_HistoryLossIsReported) {
  Feed(12, 1);
  ASSERT_EQ(CheckIssueEvents(), 1U);
  LoseAllSnapshots();
  log_.Drop(kTelemetryTopic, 0, owner_->stats().commits.next_offset - 3);
  ASSERT_TRUE(Open().ok());
  Feed(3, 1);
  EXPECT_EQ(owner_->stats().jobs.history_lost, 1U);
  EXPECT_THAT(owner_->stats().trouble, HasSubstr("jobs with lost history: 1 (job)"));
  EXPECT_THAT(PublishedStatuses(), ::testing::Contains(RuleStatus::kError));
  bool ended = false;
  for (const IssueEvent& event : Events()) ended |= event.end_reason == EndReason::kNoData;
  EXPECT_TRUE(ended) << "open issues must end";
  Feed(30, 1);
  EXPECT_EQ(owner_->stats().jobs.history_lost, 0U);
  EXPECT_EQ(owner_->stats().trouble, "");
  EXPECT_EQ(CheckIssueEvents(), 1U) << "found again";
  EXPECT_EQ(PublishedStatuses().back(), RuleStatus::kIssuesFound);
  // The next start does not report a loss.
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(owner_->stats().replay.rebuilt_jobs, 0U);
  Feed(30, 0);
  EXPECT_EQ(CheckIssueEvents(), 0U);
}

// Regression detected by tests/life: every node has a job without steps. The step-clock windows of
// such a job never filled, so its history counted as lost forever.
TEST_F(RecoveryTest, JobWithoutSteps_RegainsHistory) {
  Publish(Cat(kRules, R"rules(
- name: steps
  clock: step
  interval: 1
  rules:
  - {alert: OnSteps, expr: "avg_over_time(train_loss[10]) > 5"}
)rules"));
  owner_->WantRules(hash_);
  Feed(12, 1);
  LoseAllSnapshots();
  log_.Drop(kTelemetryTopic, 0, owner_->stats().commits.next_offset - 3);
  ASSERT_TRUE(Open().ok());
  Feed(3, 1);
  EXPECT_EQ(owner_->stats().jobs.history_lost, 1U);
  Feed(30, 1);
  EXPECT_EQ(owner_->stats().jobs.history_lost, 0U);
  EXPECT_EQ(owner_->stats().trouble, "");
  RuleStatus last = RuleStatus::kUnknown;
  for (const IssueEvent& event : Events()) {
    if (event.type == EventType::kRuleStatus && event.alert == "OnSteps") last = event.status;
  }
  EXPECT_EQ(last, RuleStatus::kNoData);
}

TEST_F(RecoveryTest, IssueOfVanishedJob_IsEnded) {
  Feed(12, 1);
  LoseAllSnapshots();
  log_.Drop(kTelemetryTopic, 0, owner_->stats().commits.next_offset);
  ASSERT_TRUE(Open().ok());
  Feed(12, 0, "another");
  EXPECT_EQ(CheckIssueEvents(), 0U);
  EXPECT_THAT(PublishedStatuses(), ::testing::Contains(RuleStatus::kStopped));
}

TEST_F(RecoveryTest, EndedJobVanishes_StatusesDoNotBecomeStopped) {
  Feed(12, 1);
  IssueEvent ended = Events().back();
  ended.type = EventType::kJobChanged;
  ended.job_change = JobChange::kEnded;
  ended.id = "ended";
  Append(kIssuesTopic, "job", cloudevents::EncodeCloudEvent(ended));
  LoseAllSnapshots();
  log_.Drop(kTelemetryTopic, 0, owner_->stats().commits.next_offset);
  ASSERT_TRUE(Open().ok());
  Feed(12, 0, "another");
  EXPECT_THAT(PublishedStatuses(), ::testing::Not(::testing::Contains(RuleStatus::kStopped)));
}

TEST_F(RecoveryTest, TopicReplacedAtRuntime_StopsProcessor) {
  Feed(12, 1);
  ASSERT_EQ(CheckIssueEvents(), 1U);
  log_.Recreate(kTelemetryTopic);
  clock_.Advance(kNanosPerSecond);
  Status status = OkStatus();
  for (int i = 0; i < 4 && status.ok(); ++i) status = owner_->RunOnce(Duration::Zero());
  EXPECT_THAT(std::string(status.message()), HasSubstr("log_truncated"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--accept-log-reset"));
  EXPECT_THAT(std::string(Open().message()), HasSubstr("log_truncated"));
  // The processor also stops if the new log has grown past the previous end.
  for (int i = 0; i < 100; ++i) Play("n sends m=1");
  EXPECT_THAT(std::string(Open().message()),
              HasSubstr("differs from the record that was read earlier"));

  options_.accept_log_reset = true;
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(CheckIssueEvents(), 0U) << "open issues have ended";
  Feed(15, 1);
  EXPECT_EQ(CheckIssueEvents(), 1U) << "and the new records are evaluated";
  // The accepted reset applies only once.
  log_.Recreate(kTelemetryTopic);
  EXPECT_THAT(std::string(owner_->Recover().message()), HasSubstr("log_truncated"));
}

TEST_F(RecoveryTest, LostCommit_IsNotTreatedAsFirstStart) {
  Feed(12, 1);
  options_.group = "another-group";  // a new group simulates expired group offsets
  EXPECT_THAT(std::string(Open().message()), HasSubstr("commit_lost"));
  options_.accept_log_reset = true;
  ASSERT_TRUE(Open().ok());
  Feed(15, 1);
  EXPECT_EQ(CheckIssueEvents(), 1U);
}

TEST_F(RecoveryTest, SnapshotOverLimit_IsReportedAndStateIsRebuilt) {
  options_.snapshot_limits.uncompressed_bytes = 200;
  ASSERT_TRUE(Open().ok());
  Feed(12, 1);
  EXPECT_EQ(owner_->stats().snapshots, 0U);
  EXPECT_THAT(owner_->stats().trouble, HasSubstr("the limit is 200"));
  ASSERT_TRUE(Open().ok());
  Feed(30, 0);
  EXPECT_EQ(CheckIssueEvents(), 0U);
}

TEST_F(RecoveryTest, ReadsMetadataOfPreviousVersion) {
  const auto old = ParseCommitMetadata("v1;L=17;rules=abc");
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->replay, 17);
  EXPECT_FALSE(old->snapshots.has_value());
  CommitMetadata now{.replay = 3, .rules = "r", .snapshots = SnapshotSum{}, .owner = "me"};
  now.snapshots->Add("a", 5);
  now.applied = {4, AppendTime::FromNs(1234)};
  const auto again = ParseCommitMetadata(EncodeCommitMetadata(now));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->snapshots, now.snapshots);
  EXPECT_EQ(again->applied, now.applied);
  EXPECT_EQ(again->owner, "me");
  EXPECT_FALSE(ParseCommitMetadata("v3;L=1").ok());
}

// Covers issue 10, A8.
TEST_F(RecoveryTest, DamagedRuleRecord_DoesNotHideOthers) {
  RuleSets fresh(&log_);
  log_.FailPolls(1, DataLoss("pitwall.rules: records at offsets 0 to 0 are gone"));
  EXPECT_TRUE(fresh.Load(hash_).ok());
  Append(kRulesTopic, hash_, "not a rule set any more");
  RuleSets another(&log_);
  EXPECT_TRUE(another.Load(hash_).ok());
  EXPECT_TRUE(absl::IsNotFound(another.Load("0123").status()));
}

// Regression detected by tests/life: an ended job with a lost rule set blocked its partition.
class EndedJobRuleSets : public RecoveryTest {
 protected:
  static constexpr char kOther[] = R"rules(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: Higher, expr: "avg_over_time(m[10s]) > 0.7"}
)rules";

  EndedJobRuleSets() {
    options_.engine.ends.silence = Duration::Seconds(6);
    EXPECT_TRUE(Open().ok());
  }
  void Change() {
    Publish(kOther);
    owner_->WantRules(hash_);
  }
  // Removes the previous rule set from the topic and from memory.
  void LoseOldRules() {
    owner_.reset();
    const auto newest = rules_->Load(hash_);
    log_.Recreate(kRulesTopic);
    rules_.emplace(&log_);
    ASSERT_TRUE(newest.ok() && rules_->Publish(*newest).ok());
  }
  size_t Ends() {
    size_t ends = 0;
    for (const IssueEvent& event : Events())
      ends += event.job == "job" && event.job_change == JobChange::kEnded;
    return ends;
  }
  size_t Found(std::string_view alert) {
    size_t found = 0;
    for (const IssueEvent& event : Events())
      found += event.type == EventType::kIssueFound && event.alert == alert && event.job == "job";
    return found;
  }
};

TEST_F(EndedJobRuleSets, EndedJobDoesNotRequireItsRules) {
  Feed(12, 1);
  Feed(20, 0, "another");
  ASSERT_EQ(Ends(), 1U) << "ended by silence";
  Change();
  Feed(6, 0, "another");
  LoseOldRules();
  const Status opened = Open();
  ASSERT_TRUE(opened.ok()) << opened;
  EXPECT_EQ(owner_->stats().replay.rebuilt_jobs, 0U);
}

TEST_F(EndedJobRuleSets, ResumedJobUsesActiveRules) {
  for (const bool restart : {true, false}) {
    Feed(12, 1);
    const size_t ended = Ends();
    Feed(20, 0, "another");
    ASSERT_EQ(Ends(), ended + 1) << "ended by silence";
    if (Found("Higher") == 0) Change();
    Feed(6, 0, "another");
    if (restart) {
      ASSERT_TRUE(Open().ok());
    }
    const size_t before = Found("High"), after = Found("Higher");
    Feed(15, 1);
    EXPECT_EQ(Found("High"), before) << restart;
    EXPECT_EQ(Found("Higher"), after + 1) << restart;
  }
}

TEST_F(EndedJobRuleSets, AcceptedLogReset_SkipsLostRules) {
  Feed(12, 1);
  ASSERT_EQ(CheckIssueEvents(), 1U);
  Change();
  LoseOldRules();  // the job does not have a snapshot with the new rules yet
  Status status = Open();
  for (int i = 0; i < 4 && status.ok(); ++i) status = owner_->RunOnce(Duration::Zero());
  EXPECT_THAT(std::string(status.message()), HasSubstr("rule set "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--accept-log-reset"));
  options_.accept_log_reset = true;
  status = Open();
  for (int i = 0; i < 4 && status.ok(); ++i) status = owner_->RunOnce(Duration::Zero());
  if (!status.ok()) status = owner_->Recover();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(CheckIssueEvents(), 0U) << "open issues have ended";
  Feed(15, 1);
  EXPECT_EQ(Found("Higher"), 1U);
}

// Covers issue 10, A9.
TEST(Fencing, TwoProcessorsStopFencingEachOther) {
  fakes::FakeClock clock;
  fakes::MemoryLog log(&clock);
  ProcessorOptions options;
  options.telemetry_partitions = 1;
  options.partition.owner = "host-a";
  Processor first(&clock, &log, options);
  options.partition.owner = "host-b";
  Processor second(&clock, &log, options);
  const auto commits = [&] {
    uint64_t all = 0;
    for (const Processor* processor : {&first, &second}) {
      for (const PartitionStats& stats : processor->stats()) all += stats.commits.count;
    }
    return all;
  };
  const auto advance_until = [&](const auto& condition) {
    for (int round = 0; round < 5000 && !condition(); ++round) {
      const uint64_t before = commits();
      clock.Advance(500 * kNanosPerMilli);
      // Waits for the owner to commit. (Owners commit once a second.)
      for (int i = 0; i < 500 && commits() == before; ++i) std::this_thread::yield();
    }
    return condition();
  };
  ASSERT_TRUE(first.Start({}).ok());
  ASSERT_TRUE(advance_until([&] { return first.ready() && first.stats()[0].commits.count > 1; }));
  ASSERT_TRUE(second.Start({}).ok());
  ASSERT_TRUE(advance_until([&] { return !first.faults().empty(); }));
  ASSERT_TRUE(advance_until([&] {
    return !first.faults().empty() &&
           first.faults()[0].find("host-b now owns the partition") != std::string::npos;
  })) << first.faults()[0];
  const int64_t until = clock.MonotonicNs() + 60 * kNanosPerSecond;
  ASSERT_TRUE(advance_until([&] { return clock.MonotonicNs() > until; }));
  EXPECT_LE(first.fenced() + second.fenced(), 3U);
  EXPECT_NE(first.ready(), second.ready());
  // After the owner stops, the other processor takes over.
  Processor& owner = first.ready() ? first : second;
  Processor& other = first.ready() ? second : first;
  const auto stop = [&](Processor* processor) {
    std::atomic<bool> stopped{false};
    std::thread stopping([&] {
      processor->Stop();
      stopped = true;
    });
    EXPECT_TRUE(advance_until([&] { return stopped.load(); }));
    stopping.join();
  };
  stop(&owner);
  EXPECT_TRUE(advance_until([&] { return other.ready(); }));
  stop(&other);
}

}  // namespace
}  // namespace pitwall::processor
