#include "services/notifier/feed/issue_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"

#include "services/notifier/feed/issue_metrics.h"
#include "services/notifier/testing/notifier_fixture.h"

namespace pitwall::notifier {
namespace {

using ::testing::ElementsAre;

IssueIndexLimits Limits() { return {100, 100, 0, 0, 64, 1000}; }

void Apply(IssueIndex* index, const IssueEvent& event) {
  index->Apply(std::make_shared<const IssueEvent>(event));
}

std::vector<std::string> Jobs(const IssueIndex& index, const IssueFilter& filter = {},
                              bool ended = false, size_t max = 100,
                              const PageCursor* after = nullptr) {
  std::vector<std::string> out;
  bool more = false;
  for (const IssueEventPtr& event : index.List(filter, ended, after, max, &more))
    out.push_back(event->job);
  if (more) out.push_back("…");
  return out;
}

TEST(IssueIndex, TracksIssueFromFoundToResolved) {
  IssueIndex index(Limits());
  const IssueEvent found = MakeEvent("a", "r", 1);
  Apply(&index, found);
  Apply(&index, MakeEvent("b", "r", 1, EventType::kIssueFound, "critical", 2000));
  Apply(&index, MakeEvent("c", "r", 1, EventType::kRuleStatus));
  EXPECT_THAT(Jobs(index), ElementsAre("b", "a"));
  const IssueEvent updated = MakeEvent("a", "r", 2, EventType::kIssueUpdated);
  Apply(&index, updated);
  Apply(&index, updated);  // duplicates have no effect
  Apply(&index, found);    // older events have no effect
  EXPECT_THAT(Jobs(index), ElementsAre("b", "a"));
  EXPECT_EQ(index.Events(updated.id).size(), 2U);
  EXPECT_EQ(index.Events(found.id).back()->id, updated.id);
  Apply(&index, MakeEvent("a", "r", 3, EventType::kIssueResolved));
  EXPECT_THAT(Jobs(index), ElementsAre("b"));
  EXPECT_THAT(Jobs(index, {}, true), ElementsAre("b", "a"));
  EXPECT_EQ(index.stats().open, 1U);
  EXPECT_EQ(index.stats().ended, 1U);
  EXPECT_TRUE(index.Events("unknown").empty());
}

TEST(IssueIndex, FindsIssueByUniqueIdPrefix) {
  IssueIndex index(Limits());
  std::vector<std::string> ids;
  // There are more issues than hex digits, so at least two IDs have the same first digit.
  for (int i = 0; i < 17; ++i) {
    const IssueEvent found = MakeEvent(Cat("j", i), "r", 1);
    ids.push_back(found.id);
    Apply(&index, found);
    Apply(&index, MakeEvent(Cat("j", i), "r", 2, EventType::kIssueUpdated));
  }
  std::sort(ids.begin(), ids.end());
  for (const std::string& id : ids) {
    ASSERT_TRUE(index.Find(id).ok());
    EXPECT_EQ(index.Find(id.substr(0, 20))->front()->id, id);
    EXPECT_EQ(index.Find(id.substr(0, 20))->size(), 2U);
    EXPECT_EQ(index.Find(index.Find(id)->back()->id)->front()->id, id);
  }
  EXPECT_TRUE(absl::IsNotFound(index.Find("xyz").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(index.Find("").status()));
  bool ambiguous = false;
  for (size_t i = 1; i < ids.size(); ++i) {
    if (ids[i][0] != ids[i - 1][0]) continue;
    ambiguous = true;
    const Status status = index.Find(ids[i].substr(0, 1)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), ids[i - 1])) << status;
  }
  EXPECT_TRUE(ambiguous);
}

TEST(IssueIndex, FindsRuleByNameSuffix) {
  IssueIndex index(Limits());
  Apply(&index, MakeEvent("a", "pack/group/StepOutlier", 1));
  Apply(&index, MakeEvent("b", "pack/group/StepOutlier#2", 1));
  Apply(&index, MakeEvent("c", "pack/group/NoStepOutlier", 1));
  EXPECT_THAT(Jobs(index, {.rule = "StepOutlier"}), ::testing::UnorderedElementsAre("a", "b"));
  EXPECT_THAT(Jobs(index, {.rule = "group/StepOutlier#2"}), ElementsAre("b"));
  EXPECT_THAT(Jobs(index, {.rule = "Outlier"}), ElementsAre());
}

TEST(IssueIndex, FiltersAndPaginates) {
  IssueIndex index(Limits());
  for (int i = 0; i < 5; ++i) {
    Apply(&index, MakeEvent(Cat("j", i), i % 2 == 0 ? "even" : "odd", 1, EventType::kIssueFound,
                            i == 4 ? "critical" : "warning", 1000 + i));
  }
  EXPECT_THAT(Jobs(index, {.job = "", .rule = "odd", .severity = "", .include_status = false}),
              ElementsAre("j3", "j1"));
  EXPECT_THAT(Jobs(index, {.job = "", .rule = "", .severity = "critical", .include_status = false}),
              ElementsAre("j4"));
  EXPECT_THAT(Jobs(index, {.job = "j2", .rule = "", .severity = "", .include_status = false}),
              ElementsAre("j2"));
  EXPECT_THAT(Jobs(index, {}, false, 2), ElementsAre("j4", "j3", "…"));
  const IssueEvent last = MakeEvent("j3", "odd", 1, EventType::kIssueFound, "warning", 1003);
  const PageCursor after{last.active_since.ns(), IssueId(last), ""};
  // An update of a listed issue and a new issue must not change the remaining pages.
  Apply(&index, MakeEvent("j2", "even", 2, EventType::kIssueUpdated, "warning", 1002));
  Apply(&index, MakeEvent("new", "even", 1, EventType::kIssueFound, "warning", 5000));
  EXPECT_THAT(Jobs(index, {}, false, 2, &after), ElementsAre("j2", "j1", "…"));
}

TEST(IssueIndex, ListsIssuesOfIncident) {
  IssueIndex index(Limits());
  for (int i = 0; i < 4; ++i) {
    IssueEvent event = MakeEvent(Cat("j", i), "r", 1, EventType::kIssueFound, "warning", 1000 + i);
    event.incident = i % 2 == 0 ? "00ff12" : "00fe12";
    Apply(&index, event);
  }
  EXPECT_THAT(Jobs(index, {.incident = "00ff12"}), ElementsAre("j2", "j0"));
  EXPECT_THAT(Jobs(index, {.incident = "00fe"}), ElementsAre("j3", "j1"));
  EXPECT_THAT(Jobs(index, {.incident = "00fe123"}), ElementsAre());
}

TEST(IssueIndex, DropsOldIssues) {
  IssueIndexLimits limits{3, 2, 100 * kNanosPerSecond, 200 * kNanosPerSecond, 4, 1000};
  IssueIndex index(limits);
  for (int i = 0; i < 10; ++i) {
    Apply(&index, MakeEvent(Cat("j", i), "r", 1, EventType::kIssueFound, "warning", 1000 + i));
  }
  EXPECT_THAT(Jobs(index), ElementsAre("j9", "j8", "j7"));
  EXPECT_EQ(index.stats().open_forgotten, 7U);
  for (int i = 7; i < 10; ++i) {
    Apply(&index, MakeEvent(Cat("j", i), "r", 2, EventType::kIssueResolved, "warning", 1000 + i));
  }
  EXPECT_EQ(index.stats().ended, 2U);
  // As event time advances, the ended issues expire first. The open issue without updates expires
  // later.
  Apply(&index, MakeEvent("k", "r", 1, EventType::kIssueFound, "warning", 1105));
  EXPECT_EQ(index.stats().ended, 2U);
  Apply(&index, MakeEvent("l", "r", 1, EventType::kIssueFound, "warning", 1110));
  EXPECT_EQ(index.stats().ended, 1U);
  Apply(&index, MakeEvent("m", "r", 1, EventType::kIssueFound, "warning", 1400));
  EXPECT_EQ(index.stats().ended, 0U);
  EXPECT_THAT(Jobs(index), ElementsAre("m"));
}

TEST(IssueIndex, KeepsFirstAndNewestEventsOfIssue) {
  IssueIndexLimits limits = Limits();
  limits.max_events_per_issue = 4;
  IssueIndex index(limits);
  std::string last;
  for (uint64_t i = 1; i <= 10; ++i) {
    const IssueEvent event =
        MakeEvent("a", "r", i, i == 1 ? EventType::kIssueFound : EventType::kIssueUpdated);
    Apply(&index, event);
    last = event.id;
  }
  std::vector<uint64_t> sequences;
  for (const IssueEventPtr& event : index.Events(last)) sequences.push_back(event->sequence);
  EXPECT_THAT(sequences, ElementsAre(1, 8, 9, 10));
}

TEST(IssueIndex, LimitsEventsOfAllIssues) {
  IssueIndexLimits limits = Limits();
  limits.max_events = 10;
  IssueIndex index(limits);
  for (uint64_t i = 1; i <= 20; ++i) {
    for (int j = 0; j < 3; ++j) {
      Apply(&index, MakeEvent(Cat("j", j), "r", i,
                              i == 1 ? EventType::kIssueFound : EventType::kIssueUpdated));
    }
  }
  size_t events = 0;
  for (int j = 0; j < 3; ++j) {
    const auto of_issue = index.Events(MakeEvent(Cat("j", j), "r", 1).id);
    ASSERT_FALSE(of_issue.empty());
    EXPECT_EQ(of_issue.front()->sequence, 1U);
    EXPECT_EQ(of_issue.back()->sequence, 20U);
    events += of_issue.size();
  }
  EXPECT_LE(events, 10U);
}

TEST(IssueIndex, FindsIssueByIdWithoutFirstEvent) {
  IssueIndex index(Limits());
  const IssueEvent update = MakeEvent("a", "r", 7, EventType::kIssueUpdated);
  Apply(&index, update);
  EXPECT_THAT(Jobs(index), ElementsAre("a"));
  EXPECT_EQ(index.Events(IssueId(update)).size(), 1U);
}

TEST(IssueMetrics, CountsOpenIssuesAndListsSamples) {
  IssueIndex index(Limits());
  Apply(&index, MakeEvent("a", "r1", 1));
  Apply(&index, MakeEvent("b", "r1", 1));
  IssueEvent odd = MakeEvent("c", "r2", 1, EventType::kIssueFound, "critical");
  odd.labels =
      Labels{{"rule", "mine"}, {"pitwall_job", "x"}, {"gpu", "3"}, {"severity", "critical"}};
  odd.id = MakeEventId(odd);
  Apply(&index, odd);
  std::vector<self_metrics::Sample> counts;
  ListOpenCounts(index, &counts);
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0].labels.ToString(), R"({rule="r1",severity="warning"})");
  EXPECT_EQ(counts[0].value, 2);
  std::vector<self_metrics::Sample> samples;
  bool truncated = true;
  ListIssueSamples(index, 100, &truncated, &samples);
  EXPECT_FALSE(truncated);
  ASSERT_EQ(samples.size(), 3U);
  std::vector<std::string> texts;
  for (const auto& sample : samples) texts.push_back(sample.labels.ToString());
  EXPECT_THAT(
      texts,
      ::testing::Contains(
          R"({exported_pitwall_job="x",exported_rule="mine",gpu="3",pitwall_job="c",rule="r2",severity="critical"})"));
  samples.clear();
  ListIssueSamples(index, 2, &truncated, &samples);
  EXPECT_TRUE(truncated);
  EXPECT_EQ(samples.size(), 2U);
}

}  // namespace
}  // namespace pitwall::notifier
