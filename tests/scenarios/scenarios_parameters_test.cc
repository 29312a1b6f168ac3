// Tests that parameters of a running job change when an override is loaded or the job gets a new
// label. Runs with every log.
#include <gmock/gmock.h>

#include "tests/scenarios/scenario.h"

namespace pitwall::scenarios {
namespace {

using testing::ElementsAre;

constexpr char kRules[] = R"(
groups:
- name: g
  interval: 1s
  rules:
  - {alert: LowGPU, expr: "hw_gpu_utilization_ratio < $limit", params: {limit: 0.5}, for: 30s}
  - {alert: NotBusy, expr: "hw_gpu_utilization_ratio < 0.9", for: 50s}
)";

std::string Limit(const std::string& match, const std::string& limit) {
  return Cat("- match: {", match, "}\n  rules: {pack/g/LowGPU: {limit: ", limit, "}}\n");
}

// Formats "31 found LowGPU node-0 0.5" for one job: second, event, parameter, and effective
// threshold.
std::vector<std::string> Lines(const std::vector<IssueEvent>& events, const std::string& job,
                               const std::string& alert, int64_t base) {
  std::vector<std::string> lines;
  for (const IssueEvent& e : events) {
    if (e.job != job || e.alert != alert || e.type == EventType::kRuleStatus ||
        e.type == EventType::kIssueUpdated)
      continue;
    std::string line =
        Cat((e.time.ns() - base) / kSecond,
            e.type == EventType::kIssueFound ? " found " : " ended ", e.labels.Get("node"));
    for (const auto& [name, value] : e.parameters) {
      CatTo(line, " ", name, "=", FormatDouble(value));
      if (e.type == EventType::kIssueFound) {
        EXPECT_EQ(e.threshold, value) << line;
      }
    }
    lines.push_back(line);
  }
  return lines;
}

TEST_P(Scenario, ParametersOfRunningJobChange) {
  const std::string other = "job-2";
  const std::string gold = Limit("tier: gold", "0.05");
  const auto limited = [&](const std::string& limit) {
    return Publish(kRules, Cat("jobs:\n", gold, Limit(Cat("job: ", kJob), limit)));
  };
  const std::string usual = Publish(kRules, Cat("jobs:\n", gold));
  Plan plan(Base());
  plan.Play(Cat(R"(
collector@node-0..1,job-2/collector@node-2 beats
collector@node-0 sends hw_gpu_utilization_ratio=0.3 @1s..110s
collector@node-1 sends hw_gpu_utilization_ratio=0.1 @1s..110s
job-2/collector@node-2 sends hw_gpu_utilization_ratio=0.3 @1s..110s
owner ticks @1s..110s
owner loads )",
                usual, R"(
# The alert is pending in both jobs. The first job's threshold decreases to a value below node-0's
# utilization.
owner loads )",
                limited("0.2"), R"( @20s
# The override is reverted, so node-0 is below the threshold from here on.
owner loads )",
                usual, R"( @60s
# The second job gets a label.
job-2/collector@node-2 starts tier=gold @80s
# The first job is firing and gets a threshold of almost zero.
owner loads )",
                limited("0.01"), " @100s\n"));

  Write(plan.records);
  options_.poll_records = 7;
  options_.snapshot_interval = Duration::Seconds(10);
  auto processor = Start();
  // The processor handles half of the input, and then another owner replaces it.
  while (processor->stats().counters.records < plan.records.size() / 2) {
    ASSERT_TRUE(processor->RunOnce(Duration::Millis(20)).ok());
    clock_.Advance(kSecond);
  }
  processor = Start();
  Drain(processor.get());
  const auto events = Events();
  EXPECT_EQ(Encoded(events), Encoded(Reference()));

  EXPECT_THAT(Lines(events, kJob, "LowGPU", Base()),
              ElementsAre("31 found node-1 limit=0.2", "91 found node-0 limit=0.5",
                          "101 ended node-0 limit=0.01", "101 ended node-1 limit=0.01"));
  EXPECT_THAT(Lines(events, other, "LowGPU", Base()),
              ElementsAre("31 found node-2 limit=0.5", "81 ended node-2 limit=0.05"));
  // Rules without parameters continue unchanged.
  EXPECT_THAT(Lines(events, kJob, "NotBusy", Base()),
              ElementsAre("51 found node-0", "51 found node-1"));
  EXPECT_THAT(Lines(events, other, "NotBusy", Base()), ElementsAre("51 found node-2"));
}

}  // namespace
}  // namespace pitwall::scenarios
