#include "services/app/text/jobs_from_topic.h"

#include <gtest/gtest.h>

#include "services/app/text/job_text.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kBeginNs = 1'767'225'600 * kSecondNs;  // 2026-01-01

class JobsFromTopicTest : public testing::Test {
 protected:
  IssueEvent& New(EventType type, int64_t at_s, std::string job = "j1") {
    event_ = IssueEvent();
    event_.type = type;
    event_.job = std::move(job);
    event_.job_name = "llm";
    event_.time = EventTime::FromNs(kBeginNs + at_s * kSecondNs);
    return event_;
  }
  void Take() { book_.Apply(std::make_shared<const IssueEvent>(event_)); }
  void Change(JobChange change, int64_t at_s, uint64_t attempt, EndDetail detail = EndDetail::kNone,
              std::string job = "j1") {
    IssueEvent& e = New(EventType::kJobChanged, at_s, std::move(job));
    e.job_change = change;
    e.attempt = attempt;
    e.end_detail = detail;
    if (change == JobChange::kRankLost) e.lost_rank = LostRank{1, "n2", 9, std::nullopt, false};
    Take();
  }
  void Report(std::string rule, RuleStatus status, RuleStatus before, std::string reason,
              int64_t at_s) {
    IssueEvent& e = New(EventType::kRuleStatus, at_s);
    e.rule = std::move(rule);
    e.status = status;
    e.previous_status = before;
    e.status_reason = std::move(reason);
    Take();
  }
  void Issue(std::string alert, bool ends, int64_t at_s) {
    IssueEvent& e = New(ends ? EventType::kIssueResolved : EventType::kIssueFound, at_s);
    e.rule = "p/g/" + alert;
    e.alert = alert;
    e.active_since = EventTime::FromNs(kBeginNs);
    e.sequence = ends ? 2 : 1;
    e.summary = "bad";
    if (ends) {
      e.ended_at = e.time;
      e.end_reason = EndReason::kJobEnded;
      e.end_detail = EndDetail::kDied;
    }
    e.id = MakeEventId(e);
    Take();
  }

  JobsFromTopic book_{3, 2};
  IssueEvent event_;
};

TEST_F(JobsFromTopicTest, JobPage_KilledJob_PrintsEndReasonsAndVerdicts) {
  Change(JobChange::kStarted, 0, 1);
  Change(JobChange::kAttemptBegan, 0, 1);
  Report("p/g/A", RuleStatus::kNoData, RuleStatus::kUnknown, "no series of train_loss", 1);
  Report("p/g/B", RuleStatus::kNoIssuesFound, RuleStatus::kUnknown, "", 1);
  Issue("B", false, 2);
  Report("p/g/B", RuleStatus::kIssuesFound, RuleStatus::kNoIssuesFound, "", 2);
  Change(JobChange::kRankLost, 9, 1);
  Change(JobChange::kAttemptEnded, 10, 1, EndDetail::kDied);
  Issue("B", true, 11);
  Report("p/g/C", RuleStatus::kNoIssuesFound, RuleStatus::kUnknown, "", 1);
  Report("p/g/C", RuleStatus::kStopped, RuleStatus::kNoIssuesFound, "the rule was removed", 9);
  Change(JobChange::kEnded, 11, 1, EndDetail::kDied);
  ASSERT_TRUE(book_.Find("j1").ok());
  const JobRecord& job = **book_.Find("j1");
  EXPECT_EQ(JobLine(job),
            "2026-01-01T00:00:00.000Z  j1  llm  ended: died  1 attempt  0 open, 1 ended issues");
  const std::string id = job.ended_issues.begin()->first.substr(0, 12);
  EXPECT_EQ(
      JobPageText(job, IssueNames()),
      Cat("job       j1\n"
          "name      llm\n"
          "state     ended: died (seen from 2026-01-01T00:00:00.000Z to 2026-01-01T00:00:11.000Z)\n"
          "attempt 1  began 2026-01-01T00:00:00.000Z, ended 2026-01-01T00:00:10.000Z: died, lasted "
          "10s\n"
          "  2026-01-01T00:00:09.000Z  rank 1 on n2 was killed by signal 9\n"
          "\n"
          "rules\n"
          "  NoData         p/g/A  since 2026-01-01T00:00:01.000Z  no series of train_loss "
          "(train_loss: sent by the training process (Python client))\n"
          "  IssuesFound    p/g/B  since 2026-01-01T00:00:02.000Z  [1 issue in total]\n"
          "  NoIssuesFound  p/g/C  since 2026-01-01T00:00:01.000Z  (stopped: the rule was "
          "removed)\n"
          "\n"
          "open issues: 0\n"
          "\n"
          "ended issues: 1\n"
          "  ",
          id,
          "  2026-01-01T00:00:11.000Z  ENDED     B    job llm  ended: died: bad; since "
          "2026-01-01T00:00:00.000Z, lasted 11s\n"));
  EXPECT_EQ(RuleStatusJson(job, "p/g/C"),
            R"({"rule":"p/g/C","status":"Stopped","verdict":"NoIssuesFound",)"
            R"("reason":"the rule was removed",)"
            R"("ever_found":false,"issues_found":0,"since":"2026-01-01T00:00:01.000000000Z"})");
}

// Between the last goodbye and the end of the job, every rule reports that its series are missing.
TEST_F(JobsFromTopicTest, Verdict_NoDataAfterLastGoodbye_IsIgnored) {
  using enum RuleStatus;
  Change(JobChange::kAttemptBegan, 0, 1);
  Report("judged", kInProgress, kUnknown, "waits", 1);
  Report("judged", kNoIssuesFound, kInProgress, "", 30);
  Report("missed", kNoData, kUnknown, "no series of train_loss", 1);
  Report("lost", kNoIssuesFound, kUnknown, "", 1);
  Report("lost", kNoData, kNoIssuesFound, "no series of y", 60);
  Report("judged", kNoData, kNoIssuesFound, "no series of z", 96);  // after the goodbye at 95 s
  Report("lost", kNoData, kNoData, "no series of y, z", 97);
  EXPECT_EQ((*book_.Find("j1"))->VerdictOf("judged").status, kNoData);  // the job has not ended yet
  Change(JobChange::kAttemptEnded, 100, 1, EndDetail::kCompleted);
  Change(JobChange::kEnded, 100, 1, EndDetail::kCompleted);
  Report("removed", kStopped, kNoIssuesFound, "the rule was removed", 50);
  Report("short", kNoData, kUnknown, "the job ended before the first evaluation", 100);
  const JobRecord& job = **book_.Find("j1");
  EXPECT_EQ(RuleStatusLine(job, "judged"), "NoIssuesFound  judged  since 2026-01-01T00:00:30.000Z");
  EXPECT_EQ(RuleStatusLine(job, "missed"),
            "NoData         missed  since 2026-01-01T00:00:01.000Z  no series of train_loss "
            "(train_loss: sent by the training process (Python client))");
  EXPECT_EQ(RuleStatusLine(job, "lost"),
            "NoData         lost  since 2026-01-01T00:01:00.000Z  no series of y");
  // The verdict is the status before Stopped.
  EXPECT_EQ(job.VerdictOf("removed").status, kNoIssuesFound);
  EXPECT_EQ(job.VerdictOf("short").status, kNoData);
  EXPECT_EQ(job.VerdictOf("unheard of").status, kUnknown);
}

// One job ended because its ranks went silent, and another because its last rank was killed.
TEST_F(JobsFromTopicTest, Verdict_NoDataAfterSilenceOrDeath_IsIgnored) {
  using enum RuleStatus;
  for (const EndDetail detail : {EndDetail::kSilent, EndDetail::kDied}) {
    const int64_t end = detail == EndDetail::kSilent ? 220 : 1010;
    const std::string rule(EndDetailName(detail));
    Change(JobChange::kAttemptBegan, 0, 1);
    Report(rule, kNoIssuesFound, kUnknown, "", 30);
    if (detail == EndDetail::kDied) Change(JobChange::kRankLost, 900, 1);
    Report(rule, kNoData, kNoIssuesFound, "no series of z",
           detail == EndDetail::kSilent ? 105 : 905);
    Change(JobChange::kAttemptEnded, end, 1, detail);
    Change(JobChange::kEnded, end, 1, detail);
    EXPECT_EQ((*book_.Find("j1"))->VerdictOf(rule).status, kNoIssuesFound) << rule;
  }
}

TEST_F(JobsFromTopicTest, Find_JobContinuesAfterEnd_IsRunning) {
  Change(JobChange::kStarted, 0, 1);
  Change(JobChange::kEnded, 5, 1, EndDetail::kSilent);
  EXPECT_TRUE((*book_.Find("j1"))->ended());
  Change(JobChange::kAttemptBegan, 9, 2);
  EXPECT_FALSE((*book_.Find("j1"))->ended());
  EXPECT_EQ((*book_.Find("j1"))->end_detail, EndDetail::kNone);
}

TEST_F(JobsFromTopicTest, Find_AmbiguousNameOrPrefix_Fails) {
  Change(JobChange::kStarted, 0, 1, EndDetail::kNone, "aa1");
  Change(JobChange::kStarted, 1, 1, EndDetail::kNone, "aa2");
  EXPECT_EQ((*book_.Find("aa2"))->id, "aa2");
  EXPECT_EQ(book_.Find("a").status().message(),
            "job \"a\": 2 jobs have this ID prefix (aa1, aa2); specify the full ID");
  EXPECT_EQ(book_.Find("llm").status().message(),
            "job \"llm\": 2 jobs have this name (aa1, aa2); specify the full ID");
  EXPECT_TRUE(absl::IsNotFound(book_.Find("x").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(book_.Find("").status()));
}

TEST_F(JobsFromTopicTest, TooManyJobsOrIssues_EvictsOldest) {
  for (int i = 0; i < 5; ++i) Change(JobChange::kStarted, i, 1, EndDetail::kNone, Cat("job", i));
  ASSERT_EQ(book_.Jobs().size(), 3u);
  EXPECT_EQ(book_.Jobs()[0]->id, "job2");
  for (int i = 0; i < 5; ++i) Issue(Cat("A", i), true, 10 + i);
  EXPECT_EQ((*book_.Find("j1"))->ended_issues.size(), 2u);
  EXPECT_EQ((*book_.Find("j1"))->ended_count, 5u);
}

TEST(SupplyText, MissingSeries_NamesSource) {
  EXPECT_EQ(SupplyText("no series of train_loss, hw_gpu_utilization_ratio, rank:mine:max20"),
            "train_loss: sent by the training process (Python client); hw_gpu_utilization_ratio: "
            "sent by the collector of each node; rank:mine:max20: written by a recording rule");
  EXPECT_EQ(SupplyText("without input: train_step{rank=\"3\"}, train_step{rank=\"4\"}"),
            "train_step: sent by the training process (Python client)");
  EXPECT_EQ(SupplyText("the job ended"), "");
}

}  // namespace
}  // namespace pitwall
