#include "services/history/views/issue_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "services/history/testing/vector_history.h"

namespace pitwall::history {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

struct EventSpec {
  std::string rule;
  EventType type = EventType::kIssueFound;
  uint64_t sequence = 1;
  double second = 0;
  std::string severity = "warning";
  std::string incident;
  std::string root_cause;
};

IssueEventPtr EventOf(const EventSpec& spec) {
  auto event = std::make_shared<IssueEvent>();
  event->type = spec.type;
  event->job = "j";
  event->rule = spec.rule;
  event->severity = spec.severity;
  event->sequence = spec.sequence;
  event->active_since = EventTime::FromNs(AtSecond(spec.rule.size()));
  event->started_at = EventTime::FromNs(AtSecond(spec.rule.size()));
  event->time = EventTime::FromNs(AtSecond(spec.second));
  if (spec.type == EventType::kIssueResolved)
    event->ended_at = EventTime::FromNs(AtSecond(spec.second));
  event->incident = spec.incident;
  event->root_cause = spec.root_cause;
  event->id = MakeEventId(*event);
  return event;
}

TEST(IssueList, IssuesAreSortedAndHaveNewestEvent) {
  const std::vector<IssueEventPtr> events = {
      EventOf({.rule = "aa", .second = 2}), EventOf({.rule = "bbb", .second = 3}),
      EventOf({.rule = "aa", .type = EventType::kIssueUpdated, .sequence = 2, .second = 4}),
      EventOf({.rule = "aa", .type = EventType::kIssueUpdated, .sequence = 2, .second = 4}),
      EventOf({.rule = "bbb", .type = EventType::kIssueResolved, .sequence = 2, .second = 5})};
  const std::vector<Issue> issues = IssuesOf(events);
  ASSERT_THAT(issues, SizeIs(2));
  EXPECT_EQ(issues[0].newest().rule, "bbb");
  EXPECT_FALSE(issues[0].open());
  EXPECT_EQ(issues[1].newest().rule, "aa");
  EXPECT_TRUE(issues[1].open());
  EXPECT_THAT(issues[1].events, SizeIs(2));  // the third event was a duplicate
  EXPECT_EQ(issues[1].id, IssueId(*events[0]));

  EXPECT_EQ(FindIssue(issues, issues[0].id)->newest().rule, "bbb");
  EXPECT_EQ(FindIssue(issues, issues[0].id.substr(0, 8))->newest().rule, "bbb");
  EXPECT_EQ(FindIssue(issues, events[2]->id)->newest().rule, "aa");
  EXPECT_EQ(FindIssue(issues, "nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindIssue(issues, "").status().code(), absl::StatusCode::kNotFound);
}

TEST(IssueList, OnsetComesFromFirstEvent) {
  auto found = std::make_shared<IssueEvent>(*EventOf({.rule = "aa", .second = 20}));
  EXPECT_EQ(IssuesOf({found})[0].onset_ns(), found->active_since.ns()) << "the rule reports none";
  EXPECT_EQ(IssuesOf({found})[0].stall_onset_ns(), 0);
  found->labels = Labels({{"category", "hang"}});
  found->onset = EventTime::FromNs(AtSecond(7));
  found->id = MakeEventId(*found);
  auto updated = std::make_shared<IssueEvent>(*found);
  updated->type = EventType::kIssueUpdated;
  updated->sequence = 2;
  updated->onset = EventTime::FromNs(AtSecond(8));  // the onset came with a slightly newer value
  updated->id = MakeEventId(*updated);
  EXPECT_EQ(IssuesOf({updated, found})[0].onset_ns(), AtSecond(7));
  EXPECT_EQ(IssuesOf({updated, found})[0].stall_onset_ns(), AtSecond(7));
  // A rule in another category may also report an onset, but the job is not stalled.
  found->labels = Labels({{"category", "memory"}});
  EXPECT_EQ(IssuesOf({found})[0].stall_onset_ns(), 0);
}

TEST(IssueList, IncidentListsRootCauseFirst) {
  const IssueEventPtr root = EventOf({.rule = "aa", .severity = "info", .incident = "i1"});
  const std::vector<IssueEventPtr> events = {
      EventOf(
          {.rule = "bbb", .severity = "critical", .incident = "i1", .root_cause = IssueId(*root)}),
      root, EventOf({.rule = "cccc", .incident = "i2"}),
      EventOf({.rule = "cccc",
               .type = EventType::kIssueResolved,
               .sequence = 2,
               .second = 9,
               .incident = "i2"})};
  const std::vector<Incident> incidents = IncidentsOf(IssuesOf(events));
  ASSERT_THAT(incidents, SizeIs(2));
  EXPECT_EQ(incidents[0].id, "i2");
  EXPECT_FALSE(incidents[0].open);
  EXPECT_EQ(incidents[0].ended_ns, AtSecond(9));
  const Incident& first = incidents[1];
  EXPECT_EQ(first.id, "i1");
  ASSERT_THAT(first.issues, SizeIs(2));
  EXPECT_EQ(first.issues[0].newest().rule, "aa");
  EXPECT_EQ(first.likely_roots, 1U);
  EXPECT_TRUE(first.open);
  EXPECT_EQ(first.severity, "critical");
  EXPECT_EQ(first.started_ns, AtSecond(2));
  EXPECT_EQ(first.ended_ns, 0);
}

TEST(IssueList, RuleStatesCountIssues) {
  const auto status = [](std::string rule, RuleStatus to, double second) {
    auto event = std::make_shared<IssueEvent>();
    event->type = EventType::kRuleStatus;
    event->job = "j";
    event->rule = std::move(rule);
    event->status = to;
    event->status_reason = "because";
    event->time = EventTime::FromNs(AtSecond(second));
    return event;
  };
  const std::vector<RuleState> states = RuleStatesOf(
      {}, {status("aa", RuleStatus::kInProgress, 1), status("zz", RuleStatus::kNoData, 1),
           EventOf({.rule = "aa"}), status("aa", RuleStatus::kIssuesFound, 2),
           EventOf({.rule = "aa", .type = EventType::kIssueResolved, .sequence = 2, .second = 3}),
           EventOf({.rule = "q"})});
  ASSERT_THAT(states, SizeIs(3));
  EXPECT_EQ(states[0].rule, "aa");
  EXPECT_EQ(states[0].status, RuleStatus::kIssuesFound);
  EXPECT_EQ(states[0].since_ns, AtSecond(2));
  EXPECT_EQ(states[0].found, 1U);
  EXPECT_EQ(states[0].open, 0U);
  EXPECT_TRUE(states[0].ever_found);
  EXPECT_EQ(states[0].last_found_ns, AtSecond(2));
  EXPECT_EQ(states[1].rule, "q");  // this rule never reported a status
  EXPECT_EQ(states[1].status, RuleStatus::kUnknown);
  EXPECT_EQ(states[1].open, 1U);
  EXPECT_EQ(states[2].status, RuleStatus::kNoData);
  EXPECT_FALSE(states[2].ever_found);
  EXPECT_EQ(states[2].reason, "because");
}

TEST(IssueList, EndedJob_VerdictIsLastStatusWithData) {
  const auto status = [](double second, std::string rule, RuleStatus from, RuleStatus to,
                         std::string reason) {
    auto event = std::make_shared<IssueEvent>();
    event->type = EventType::kRuleStatus;
    event->job = "j";
    event->time = EventTime::FromNs(AtSecond(second));
    event->rule = std::move(rule);
    event->previous_status = from;
    event->status = to;
    event->status_reason = std::move(reason);
    return event;
  };
  using enum RuleStatus;
  std::vector<IssueEventPtr> events = {
      status(1, "missed", kUnknown, kNoData, "no series of x"),
      status(1, "judged", kUnknown, kInProgress, "waits"),
      status(3, "judged", kInProgress, kNoIssuesFound, ""),
      status(1, "lost", kUnknown, kNoIssuesFound, ""),
      status(4, "lost", kNoIssuesFound, kNoData, "no series of y"),
      // The last rank sent a goodbye at second 5, before this status.
      status(9, "judged", kNoIssuesFound, kNoData, "no series of z"),
  };
  JobOverview life;
  life.sources["rank-0"] = {.source = "rank-0", .rank = 0, .last_ns = AtSecond(5)};
  life.sources["collector"] = {.source = "collector", .last_ns = AtSecond(20)};
  // While the job is running, the latest status is used.
  std::vector<RuleState> states = RuleStatesOf(life, events);
  ASSERT_THAT(states, SizeIs(3));
  EXPECT_EQ(states[0].rule, "judged");
  EXPECT_EQ(states[0].verdict.status, kNoData);
  life.ended_ns = AtSecond(10);
  events.push_back(status(10, "never", kUnknown, kNoData, "the job ended"));
  events.push_back(status(4, "unreported", kNoIssuesFound, kStopped, "the rule was removed"));
  states = RuleStatesOf(life, events);
  ASSERT_THAT(states, SizeIs(5));
  EXPECT_EQ(states[0].status, kNoData);
  EXPECT_EQ(states[0].reason, "no series of z");
  EXPECT_EQ(states[0].verdict.status, kNoIssuesFound);
  EXPECT_EQ(states[0].verdict.reason, "");
  EXPECT_EQ(states[1].verdict.status, kNoData);  // its series disappeared while the job was running
  EXPECT_EQ(states[1].verdict.reason, "no series of y");
  EXPECT_EQ(states[2].verdict.status, kNoData);
  EXPECT_EQ(states[2].verdict.reason, "no series of x");
  EXPECT_EQ(states[3].verdict.status, kNoData);
  // The event for this status is missing, so the status comes from previous_status.
  EXPECT_EQ(states[4].verdict.status, kNoIssuesFound);
}

}  // namespace
}  // namespace pitwall::history
