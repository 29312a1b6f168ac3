#include "tests/scenarios/scenario_log.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"
#include "services/processor/processor.h"

namespace pitwall::scenarios {

namespace {
// The partition must not have been used by another scenario in this process or by an earlier
// scenario on the same broker.
int32_t next_partition = 0;
constexpr int32_t kPartitions = 64;
}  // namespace

void ScenarioTest::SetUp() {
  const LogKind& kind = LogKinds()[GetParam()];
  std::string pattern =
      (std::filesystem::temp_directory_path() / "pitwall-scenario-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  dir_ = pattern;
  auto opened = kind.open(&clock_, dir_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  log_ = *std::move(opened);
  processor::ProcessorOptions topics;
  topics.telemetry_partitions = kPartitions;
  ASSERT_TRUE(processor::EnsureTopics(log_.get(), topics).ok());
  partition_ = next_partition++ % kPartitions;
  rules_ = std::make_unique<processor::RuleSets>(log_.get());
  options_.clock_ticks = false;
  options_.snapshot_interval = Duration::Minutes(1);
  // The base time is a whole minute, so that ticks of every interval are at round times. On Kafka,
  // the whole scenario is in the past, because append times are real.
  base_ = kind.stamps_itself ? (static_cast<int64_t>(::time(nullptr)) / 3600 - 4) * 3600 * kSecond
                             : 1'767'225'600 * kSecond;
}

int64_t ScenarioTest::RecentBase() const {
  return LogKinds()[GetParam()].stamps_itself
             ? (static_cast<int64_t>(::time(nullptr)) - 300) * kSecond
             : base_;
}

void ScenarioTest::TearDown() {
  rules_.reset();
  log_.reset();
  std::filesystem::remove_all(dir_);
}

std::string ScenarioTest::Publish(const std::string& yaml, const std::string& overrides) {
  RuleSet rules{.files = {{"pack.yaml", yaml}}, .overrides = {}};
  if (!overrides.empty()) rules.overrides = RuleSetFile{"overrides.yaml", overrides};
  return Publish(std::move(rules));
}

std::string ScenarioTest::Publish(RuleSet rules) {
  const auto compiled = engine::CompiledRules::Accept(std::move(rules));
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  if (!compiled.ok()) return "";
  const Status published = rules_->Publish(*compiled);
  EXPECT_TRUE(published.ok()) << published;
  return (*compiled)->hash();
}

void ScenarioTest::Write(const std::vector<ScriptRecord>& records) {
  auto appender = log_->OpenAppender();
  ASSERT_TRUE(appender.ok()) << appender.status();
  // Each append time needs a separate append call, because the log stamps all records of a call
  // with the same time.
  for (size_t i = 0; i < records.size();) {
    std::vector<OutgoingRecord> group;
    const int64_t at = records[i].append_time_ns;
    for (; i < records.size() && records[i].append_time_ns == at; ++i) {
      group.push_back({.topic = std::string(kTelemetryTopic),
                       .partition = partition_,
                       .key = records[i].key,
                       .value = records[i].value});
    }
    clock_.SetWall(at);
    const Status status = (*appender)->Append(std::move(group));
    ASSERT_TRUE(status.ok()) << status;
  }
}

std::unique_ptr<processor::PartitionProcessor> ScenarioTest::Start() {
  auto processor = std::make_unique<processor::PartitionProcessor>(partition_, &clock_, log_.get(),
                                                                   rules_.get(), options_);
  const Status status = processor->Recover();
  EXPECT_TRUE(status.ok()) << status;
  return processor;
}

void ScenarioTest::Drain(processor::PartitionProcessor* processor) {
  for (int i = 0; i < 100'000; ++i) {
    const Status status =
        processor->RunOnce(Duration::Millis(LogKinds()[GetParam()].stamps_itself ? 20 : 0));
    ASSERT_TRUE(status.ok()) << status;
    clock_.Advance(kSecond);  // makes commits and snapshots due
    if (processor->CaughtUp()) {
      counters_ = processor->stats().counters;
      return;
    }
  }
  FAIL() << "the processor did not catch up";
}

std::vector<IssueEvent> ScenarioTest::Play(const std::string& yaml, const Plan& plan) {
  std::vector<ScriptRecord> records = {
      {plan.base(), std::string(kControlKey), telemetry_script::RuleSetRecord(Publish(yaml)), ""}};
  records.insert(records.end(), plan.records.begin(), plan.records.end());
  Write(records);
  const auto processor = Start();
  Drain(processor.get());
  std::vector<IssueEvent> events = Events();
  // In every scenario, the list of committed events equals the events of an uninterrupted engine.
  EXPECT_EQ(Encoded(events), Encoded(Reference()));
  return events;
}

std::vector<IssueEvent> ScenarioTest::Events() {
  std::vector<IssueEvent> events;
  auto reader = log_->OpenReader({std::string(kIssuesTopic), partition_}, kFromStart);
  EXPECT_TRUE(reader.ok()) << reader.status();
  const auto end = (*reader)->EndOffset();
  EXPECT_TRUE(end.ok()) << end.status();
  std::vector<Record> records;
  while ((*reader)->position() < *end) {
    const Status status = (*reader)->Poll(1000, 8 << 20, Duration::Zero(), &records);
    EXPECT_TRUE(status.ok()) << status;
  }
  for (const Record& record : records) {
    auto event = cloudevents::DecodeCloudEvent(record.value);
    EXPECT_TRUE(event.ok()) << event.status() << record.value;
    if (event.ok()) events.push_back(*std::move(event));
  }
  return events;
}

std::vector<IssueEvent> ScenarioTest::Reference(int64_t below) {
  engine::Shard shard(rules_.get(), options_.engine);
  EXPECT_TRUE(shard.SetInitialRules("").ok());
  auto reader = log_->OpenReader({std::string(kTelemetryTopic), partition_}, kFromStart);
  EXPECT_TRUE(reader.ok()) << reader.status();
  const auto end = (*reader)->EndOffset();
  engine::EventSink outputs;
  std::vector<Record> records;
  while ((*reader)->position() < *end) {
    records.clear();
    EXPECT_TRUE((*reader)->Poll(1000, 8 << 20, Duration::Zero(), &records).ok());
    for (const Record& record : records) {
      if (record.offset >= below) return outputs.events;
      EXPECT_TRUE(shard
                      .Apply(LogOffset(record.offset), record.append_time, record.key, record.value,
                             &outputs)
                      .ok());
    }
  }
  return outputs.events;
}

std::vector<std::string> Issues(const std::vector<IssueEvent>& events) {
  std::vector<std::string> lines;
  for (const IssueEvent& event : events) {
    if (event.type == EventType::kRuleStatus || event.type == EventType::kJobChanged) continue;
    const std::string what = event.type == EventType::kIssueFound     ? "found "
                             : event.type == EventType::kIssueUpdated ? "updated "
                                                                      : "resolved ";
    lines.push_back(
        Cat(what, event.labels.With("alertname", "").With(kMetricName, event.alert).ToString(),
            event.end_reason == EndReason::kNone ? "" : " ", EndReasonName(event.end_reason)));
  }
  return lines;
}

std::vector<std::string> Statuses(const std::vector<IssueEvent>& events) {
  std::vector<std::string> lines;
  for (const IssueEvent& event : events) {
    if (event.type == EventType::kRuleStatus)
      lines.push_back(Cat(event.alert, ": ", RuleStatusName(event.status)));
  }
  return lines;
}

std::vector<std::string> JobChanges(const std::vector<IssueEvent>& events) {
  std::vector<std::string> lines;
  for (const IssueEvent& event : events) {
    if (event.type != EventType::kJobChanged) continue;
    std::string line = Cat(event.attempt, " ", JobChangeName(event.job_change));
    if (event.end_detail != EndDetail::kNone) CatTo(line, " ", EndDetailName(event.end_detail));
    if (event.lost_rank.has_value()) CatTo(line, " ", event.lost_rank->rank);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> Encoded(const std::vector<IssueEvent>& events) {
  std::vector<std::string> lines;
  for (const IssueEvent& event : events) lines.push_back(cloudevents::EncodeCloudEvent(event));
  return lines;
}

}  // namespace pitwall::scenarios
