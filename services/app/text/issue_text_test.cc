#include "services/app/text/issue_text.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

IssueEvent Event(std::string_view alert, std::string_view rank, int64_t began_s) {
  IssueEvent e;
  e.job = "j1";
  e.job_name = "llm";
  e.rule = Cat("pack/g/", alert);
  e.alert = alert;
  e.labels = Labels({{"alertname", alert}, {"severity", "warning"}});
  if (!rank.empty()) e.labels = e.labels.With("rank", rank);
  e.severity = "warning";
  e.time = e.active_since = EventTime::FromNs(began_s * 1'000'000'000);
  e.sequence = 1;
  e.summary = "slow";
  e.id = MakeEventId(e);
  e.incident = "0123456789abcdef0123456789abcdef";
  return e;
}

TEST(IssueLines, IssueLine_Symptom_NamesRootCause) {
  const IssueEvent cause = Event("StragglerRank", "2", 1'767'225'600);
  IssueEvent symptom = Event("StepOutlier", "", 1'767'225'601);
  symptom.root_cause = cause.id;
  IssueNames names;
  EXPECT_EQ(IssueLine(symptom, names),
            Cat("2026-01-01T00:00:01.000Z  FOUND     StepOutlier  warning  job llm  slow"
                "  because of issue ",
                cause.id.substr(0, 12), "  [incident 0123456789ab]"));
  names.Learn(cause);
  EXPECT_EQ(IssueLine(symptom, names),
            "2026-01-01T00:00:01.000Z  FOUND     StepOutlier  warning  job llm  slow"
            "  because of StragglerRank{rank=\"2\"}  [incident 0123456789ab]");
  IssueEvent end = cause;
  end.type = EventType::kIssueResolved;
  end.end_reason = EndReason::kNoData;
  end.time = end.ended_at = end.active_since + Duration::Millis(192'400);
  EXPECT_EQ(
      IssueLine(end, names),
      "2026-01-01T00:03:12.400Z  ENDED     StragglerRank{rank=\"2\"}  warning  job llm  ended: "
      "no_data: slow; since 2026-01-01T00:00:00.000Z, lasted 3m12s  [incident 0123456789ab]");
}

TEST(IssueLines, IssueLine_JobChange_IsPrintedAsSentence) {
  IssueEvent e = Event("", "", 1'767'225'600);
  e.type = EventType::kJobChanged;
  e.attempt = 2;
  const auto line = [&] { return IssueLine(e, IssueNames()); };
  e.job_change = JobChange::kRankLost;
  e.end_detail = EndDetail::kDied;
  e.lost_rank = LostRank{1, "n2", 9, std::nullopt, false};
  EXPECT_EQ(line(),
            "2026-01-01T00:00:00.000Z  JOB       job llm: rank 1 on n2 was killed by signal 9");
  e.lost_rank->oom_killed = true;
  EXPECT_EQ(line(),
            "2026-01-01T00:00:00.000Z  JOB       job llm: rank 1 on n2 was killed by signal 9, out "
            "of memory");
  e.lost_rank = LostRank{1, "n2", std::nullopt, 3, false};
  EXPECT_EQ(line(),
            "2026-01-01T00:00:00.000Z  JOB       job llm: rank 1 on n2 ended with exit code 3");
  e.lost_rank = LostRank{1, "n2", std::nullopt, std::nullopt, false};
  EXPECT_EQ(line(),
            "2026-01-01T00:00:00.000Z  JOB       job llm: rank 1 on n2 ended without a goodbye");
  e.summary.clear();
  e.job_change = JobChange::kAttemptEnded;
  EXPECT_EQ(line(), "2026-01-01T00:00:00.000Z  JOB       job llm: attempt 2 ended: died");
  e.job_change = JobChange::kEnded;
  EXPECT_EQ(line(), "2026-01-01T00:00:00.000Z  JOB       job llm: ended: died");
  e.end_detail = EndDetail::kStopped;
  e.summary = "stopped by rule training/numerics/LossNotFinite";
  EXPECT_EQ(line(),
            "2026-01-01T00:00:00.000Z  JOB       job llm: ended: stopped by rule "
            "training/numerics/LossNotFinite");
  IssueNames names;
  names.Learn(e);
  EXPECT_FALSE(names.Knows(IssueId(e)));
}

// An issue is printed as resolved only if the issue recovered.
TEST(IssueLines, IssueLine_JobEnded_IsNotPrintedAsResolved) {
  IssueEvent e = Event("A", "", 1'767'225'600);
  e.incident.clear();
  e.type = EventType::kIssueResolved;
  e.end_reason = EndReason::kJobEnded;
  e.end_detail = EndDetail::kDied;
  e.ended_at = e.active_since + Duration::Millis(1500);
  EXPECT_EQ(IssueLine(e, IssueNames()),
            "2026-01-01T00:00:00.000Z  ENDED     A  warning  job llm  ended: died: slow; since "
            "2026-01-01T00:00:00.000Z, lasted 1.5s");
  e.end_reason = EndReason::kCleared;
  e.end_detail = EndDetail::kNone;
  EXPECT_EQ(IssueLine(e, IssueNames()),
            "2026-01-01T00:00:00.000Z  RESOLVED  A  warning  job llm  cleared: slow; since "
            "2026-01-01T00:00:00.000Z, lasted 1.5s");
}

TEST(IssueLines, IssueNames_LimitReached_EvictsOldest) {
  IssueNames names(2);
  const IssueEvent a = Event("A", "", 1), b = Event("B", "", 1), c = Event("C", "", 1);
  names.Learn(a);
  names.Learn(b);
  names.Learn(a);
  names.LearnUnknown(c.id);
  EXPECT_FALSE(names.Knows(a.id));
  EXPECT_EQ(names.Name(b.id), "B");
  EXPECT_TRUE(names.Knows(c.id));
  EXPECT_EQ(names.Name(c.id), Cat("issue ", c.id.substr(0, 12)));
}

TEST(IssueLines, LastedText_TruncatesDurationToUnit) {
  EXPECT_EQ(LastedText(0), "0s");
  EXPECT_EQ(LastedText(-5), "0s");
  EXPECT_EQ(LastedText(250'700'000), "250ms");
  EXPECT_EQ(LastedText(1'250'000'000), "1.25s");
  EXPECT_EQ(LastedText(59'000'000'000), "59s");
  EXPECT_EQ(LastedText(3'661'900'000'000), "1h1m1s");
}

TEST(IssueLines, IncidentLine_NamesLikelyRoots) {
  const auto share = [](IssueEvent e) { return std::make_shared<const IssueEvent>(std::move(e)); };
  const int64_t t = 1'767'225'600;
  const IssueEvent late = Event("Late", "", t + 20), early = Event("Early", "2", t + 10);
  IssueEvent s1 = Event("S1", "", t + 21), s2 = Event("S2", "", t + 22),
             s3 = Event("S3", "", t + 23);
  std::vector<IssueEventPtr> issues = {share(late), share(early), share(s1), share(s2)};
  IssueNames names;
  for (const IssueEventPtr& event : issues) names.Learn(*event);
  EXPECT_EQ(IncidentLine({}, names), "incident not found");
  EXPECT_EQ(
      IncidentLine({share(late)}, names),
      "Incident 0123456789ab of job llm began at 2026-01-01T00:00:20.000Z and has 1 issue: Late.");
  EXPECT_EQ(
      IncidentLine({share(late), share(early)}, names),
      "Incident 0123456789ab of job llm began at 2026-01-01T00:00:10.000Z and has 2 issues; its "
      "root cause is Early{rank=\"2\"}.");
  // The earlier root is chosen even though the later root explains more issues.
  s1.root_cause = late.id;
  s2.root_cause = early.id;
  s3.root_cause = late.id;
  issues = {share(late), share(early), share(s1), share(s2), share(s3)};
  EXPECT_EQ(
      IncidentLine(issues, names),
      "Incident 0123456789ab of job llm began at 2026-01-01T00:00:10.000Z and has 5 issues; its "
      "root cause is Early{rank=\"2\"} (explains 1).");
  // Two roots are equally likely.
  IssueEvent rival = late;
  rival.labels = rival.labels.With("rank", "3");
  issues[0] = share(rival);
  names.Learn(rival);
  EXPECT_EQ(
      IncidentLine(issues, names),
      "Incident 0123456789ab of job llm began at 2026-01-01T00:00:10.000Z and has 5 issues; its "
      "root cause is Early{rank=\"2\"} (explains 1) or Late{rank=\"3\"} (explains 2).");
  // The more severe root is chosen even though the other root started earlier.
  IssueEvent worse = rival;
  worse.severity = "critical";
  worse.labels = worse.labels.With("severity", "critical");
  issues[0] = share(worse);
  EXPECT_EQ(
      IncidentLine(issues, names),
      "Incident 0123456789ab of job llm began at 2026-01-01T00:00:10.000Z and has 5 issues; its "
      "root cause is Late{rank=\"3\"} (explains 2).");
  for (IssueEvent* e : {&s1, &s2}) {
    e->type = EventType::kIssueResolved;
    e->end_reason = EndReason::kCleared;
    e->ended_at = EventTime::FromNs((t + 60) * 1'000'000'000);
    e->root_cause = early.id;
  }
  EXPECT_EQ(
      IncidentLine({share(s1), share(s2), share(early)}, names),
      "Incident 0123456789ab of job llm began at 2026-01-01T00:00:10.000Z and has 3 issues, 1 of "
      "them open; its root cause is Early{rank=\"2\"} (explains 2).");
  EXPECT_EQ(IncidentLine({share(s1), share(s2)}, names),
            "Incident 0123456789ab of job llm lasted from 2026-01-01T00:00:21.000Z to "
            "2026-01-01T00:01:00.000Z and has 2 issues; its root cause is Early{rank=\"2\"} "
            "(explains 2).");
}

}  // namespace
}  // namespace pitwall
