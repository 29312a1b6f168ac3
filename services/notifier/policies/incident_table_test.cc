#include "services/notifier/policies/incident_table.h"

#include <gtest/gtest.h>

#include <memory>

#include "services/notifier/testing/notifier_fixture.h"

namespace pitwall::notifier {
namespace {

IssueEventPtr EventOf(std::string_view rule, uint64_t sequence,
                      EventType type = EventType::kIssueFound, std::string_view incident = "i") {
  IssueEvent event = MakeEvent("job", rule, sequence, type);
  event.incident = incident;
  return std::make_shared<const IssueEvent>(std::move(event));
}

TEST(IncidentTable, GathersIssuesOfIncident) {
  IncidentTable table(10);
  EXPECT_EQ(table.Add(EventOf("a", 1)).previous, nullptr);
  const IncidentTable::Change change = table.Add(EventOf("b", 1));
  EXPECT_EQ(change.key, "i");
  EXPECT_EQ(change.incident->issues.size(), 2U);
  EXPECT_EQ(change.incident->open, 2U);
  const IssueEventPtr end = EventOf("a", 2, EventType::kIssueResolved);
  EXPECT_NE(table.Add(end).previous, nullptr);
  EXPECT_EQ(table.Find("i")->open, 1U);
  table.DropEndedIssues(table.Find("i"));
  EXPECT_EQ(table.Find("i")->issues.size(), 1U);
  EXPECT_EQ(table.Find("i")->dropped, 1U);
}

TEST(IncidentTable, UnknownStartCountsAsNotified) {
  IncidentTable table(10);
  EXPECT_FALSE(table.Add(EventOf("a", 1)).incident->notified);
  const auto later = EventOf("a", 2, EventType::kIssueUpdated, "j");
  EXPECT_TRUE(table.Add(later).incident->notified);
}

TEST(IncidentTable, DropsOldestIncidentsAboveLimit) {
  IncidentTable table(1);
  table.Add(EventOf("a", 1, EventType::kIssueFound, "old"));
  table.Add(EventOf("b", 2, EventType::kIssueFound, "new"));
  table.DropOldest();
  EXPECT_FALSE(table.Contains("old"));
  EXPECT_TRUE(table.Contains("new"));
  EXPECT_EQ(table.size(), 1U);
}

TEST(IncidentTable, NodeIssuesOfSeveralJobsShareAnIncident) {
  IncidentTable table(10);
  std::set<std::string> keys;
  for (const char* job : {"job1", "job2"}) {
    IssueEvent event = MakeEvent(job, "r", 1);
    event.labels = event.labels.With("scope", "node");
    keys.insert(table.Add(std::make_shared<const IssueEvent>(event)).key);
  }
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(table.Find(*keys.begin())->issues.size(), 2U);
  EXPECT_EQ(table.Find(*keys.begin())->node, "n1");
}

}  // namespace
}  // namespace pitwall::notifier
