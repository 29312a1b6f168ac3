// Input and output of a scenario: a partition of a real log (embedded or Kafka), the partition's
// processor, and the events that the processor commits.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/io/io.h"
#include "services/model/issues/issue.h"
#include "services/processor/partition_processor.h"
#include "services/processor/rule_sets.h"
#include "tests/fakes/fake_clock.h"
#include "tests/scenarios/plan.h"

namespace pitwall::scenarios {

// A kind of log. `open` opens a log with existing topics and at least `partition + 1` partitions.
struct LogKind {
  std::string name;
  // `append_clock` provides append times if the log supports an external clock (embedded). Kafka
  // assigns append times itself.
  std::function<StatusOr<std::unique_ptr<Log>>(Clock* append_clock, const std::string& dir)> open;
  bool stamps_itself = false;
};
const std::vector<LogKind>& LogKinds();

class ScenarioTest : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Event time at which a scenario starts. On Kafka, append times are real, so scenarios take place
  // in the past.
  int64_t Base() const { return base_; }
  // Start time for scenarios that depend on the append time: as late as possible, provided that no
  // correct clock is ahead of the append time.
  int64_t RecentBase() const;
  // Publishes the rule file as the pack "pack", and publishes the overrides.
  std::string Publish(const std::string& yaml, const std::string& overrides = "");
  std::string Publish(RuleSet rules);
  // Writes the records to the input partition in order.
  void Write(const std::vector<ScriptRecord>& records);
  // Returns a recovered processor for the partition. Clock ticks are disabled, because the records
  // contain them.
  std::unique_ptr<processor::PartitionProcessor> Start();
  // Runs the processor until it has committed all written records.
  void Drain(processor::PartitionProcessor* processor);
  // Publishes the rules, writes the records, runs the processor, and returns the committed events.
  std::vector<IssueEvent> Play(const std::string& yaml, const Plan& plan);
  // Returns all committed events of the partition.
  std::vector<IssueEvent> Events();
  // Returns the events for the same records (up to but excluding `end`) from a new in-memory engine
  // without a log. They serve as the bit-identical reference.
  std::vector<IssueEvent> Reference(int64_t end = INT64_MAX);
  engine::EngineCounters Counters() const { return counters_; }

  Log* log() { return log_.get(); }
  int32_t partition() const { return partition_; }
  processor::PartitionOptions options_;
  fakes::FakeClock clock_;

 private:
  std::string dir_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<processor::RuleSets> rules_;
  engine::EngineCounters counters_;
  int32_t partition_ = 0;
  int64_t base_ = 0;
};

// Formats events for comparison: "found Alert{a="b"}", "resolved Alert{…} cleared", in order,
// without statuses and job changes.
std::vector<std::string> Issues(const std::vector<IssueEvent>& events);
// Formats statuses as "Alert: NoData", in order.
std::vector<std::string> Statuses(const std::vector<IssueEvent>& events);
// Formats job changes as "<attempt> <change> [<detail>] [<lost rank>]", in order: "1 rank_lost died
// 3".
std::vector<std::string> JobChanges(const std::vector<IssueEvent>& events);
// Returns all events in encoded form.
std::vector<std::string> Encoded(const std::vector<IssueEvent>& events);

}  // namespace pitwall::scenarios
