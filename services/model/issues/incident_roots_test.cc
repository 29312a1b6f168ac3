#include "services/model/issues/incident_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pitwall {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

IssueEvent RootEvent(std::string_view category, std::string_view severity, int64_t onset_s,
                     std::string root_cause = "") {
  IssueEvent event;
  event.labels = Labels({{"category", category}, {"severity", severity}});
  event.severity = std::string(severity);
  event.active_since = EventTime::FromNs(onset_s * kSecondNs);
  event.type = EventType::kIssueFound;
  event.root_cause = std::move(root_cause);
  return event;
}

std::vector<std::string> Sorted(std::vector<IncidentIssue> issues, std::string_view told = {}) {
  SortByRoot(&issues, told);
  std::vector<std::string> out;
  for (const IncidentIssue& issue : issues) out.emplace_back(issue.id);
  return out;
}

TEST(IncidentRoots, OrdersByUnexplainedThenOpenThenStrength) {
  const IssueEvent symptom = RootEvent("death", "critical", 1, "x");
  IssueEvent ended = RootEvent("death", "critical", 2);
  ended.type = EventType::kIssueResolved;
  const IssueEvent warning = RootEvent("progress", "warning", 3);
  const IssueEvent critical = RootEvent("progress", "critical", 4);
  const std::vector<IncidentIssue> issues = {
      {"a", &symptom}, {"b", &ended}, {"c", &warning}, {"d", &critical}};
  EXPECT_THAT(Sorted(issues), testing::ElementsAre("d", "c", "b", "a"));
}

TEST(IncidentRoots, NotifiedRootWinsTie) {
  const IssueEvent one = RootEvent("progress", "warning", 3);
  const std::vector<IncidentIssue> issues = {{"a", &one}, {"b", &one}};
  EXPECT_THAT(Sorted(issues), testing::ElementsAre("a", "b"));
  EXPECT_THAT(Sorted(issues, "b"), testing::ElementsAre("b", "a"));
}

TEST(IncidentRoots, EquallyLikelyRootsHaveSameClassSeverityAndOnset) {
  const IssueEvent first = RootEvent("progress", "warning", 100);
  const IssueEvent close = RootEvent("progress", "warning", 220);
  const IssueEvent late = RootEvent("progress", "warning", 221);
  const IssueEvent info = RootEvent("progress", "info", 100);
  const IssueEvent explained = RootEvent("progress", "warning", 100, "x");
  const auto likely = [](const std::vector<IncidentIssue>& issues) { return LikelyRoots(issues); };
  EXPECT_EQ(likely({}), 0U);
  EXPECT_EQ(likely({{"a", &first}}), 1U);
  EXPECT_EQ(likely({{"a", &first}, {"b", &close}, {"c", &late}}), 2U);
  EXPECT_EQ(likely({{"a", &first}, {"b", &info}}), 1U);
  EXPECT_EQ(likely({{"a", &first}, {"b", &explained}}), 1U);
}

}  // namespace
}  // namespace pitwall
