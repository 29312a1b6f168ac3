#include "services/app/text/issue_details_text.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

IssueEvent FoundOnPage() {
  IssueEvent e;
  e.job = "u1000:llm:1";
  e.job_name = "llm";
  e.attempt = 2;
  e.rule = "default/stragglers/StragglerRank";
  e.alert = "StragglerRank";
  e.labels = Labels({{"alertname", "StragglerRank"}, {"rank", "2"}, {"severity", "warning"}});
  e.severity = "warning";
  e.time = e.active_since = e.started_at = e.last_seen_at =
      EventTime::FromNs(1'767'225'600'000'000'000);
  e.sequence = 1;
  e.value = 1.5;
  e.threshold = 1.2;
  e.step = 40;
  e.parameters = {{"ratio", 1.2}, {"share", 50}};
  e.evidence = {{"train_step_duration_seconds", Labels({{"rank", "2"}}), 0.3},
                {"median", Labels(), 0.2}};
  e.summary = "rank 2 is slow";
  e.description = "It takes 1.5 times the median.";
  e.suggestion = "Look at its node.\nThen at its data.";
  e.id = MakeEventId(e);
  e.incident = e.id;
  return e;
}

TEST(IssuePage, IssuePageText_EveryField_IsPrinted) {
  const IssueEvent found = FoundOnPage();
  IssueEvent end = found;
  end.type = EventType::kIssueResolved;
  end.time = end.ended_at = found.time + Duration::Seconds(75);
  end.end_reason = EndReason::kCleared;
  end.sequence = 2;
  end.id = MakeEventId(end);
  // The value of the last event must not be printed together with evidence from an earlier event.
  end.value = 1.1;
  end.evidence.clear();
  end.threshold.reset();
  ActionEvent action;
  action.job = found.job;
  action.job_name = "llm";
  action.rule = found.rule;
  action.why = "policy";
  action.time = found.time;
  IssueView view;
  view.events = {std::make_shared<const IssueEvent>(found),
                 std::make_shared<const IssueEvent>(end)};
  view.incident = {view.events.back()};
  view.actions = std::vector<ActionEvent>{action};
  NotificationRecord delivered;
  delivered.issues = {found.id};
  delivered.receiver = "team";
  delivered.kind = "slack";
  delivered.what = "found";
  delivered.time = found.time;
  NotificationRecord missed = delivered;
  missed.receiver = "pager";
  missed.kind = "webhook";
  missed.issues = {found.id, "other"};
  missed.taken = false;
  missed.error = "status 404";
  view.notifications = std::vector<NotificationRecord>{delivered, missed};
  IssueNames names;
  names.Learn(found);
  EXPECT_EQ(
      IssuePageText(view, names),
      Cat("issue         ", found.id,
          "\n"
          "name          StragglerRank{rank=\"2\"}\n"
          "severity      warning\n"
          "state         cleared at 2026-01-01T00:01:15.000Z, since "
          "2026-01-01T00:00:00.000Z, lasted 1m15s\n"
          "job           llm (u1000:llm:1)\n"
          "attempt       2\n"
          "rule          default/stragglers/StragglerRank\n"
          "summary       rank 2 is slow\n"
          "description   It takes 1.5 times the median.\n"
          "suggestion    Look at its node.\n"
          "              Then at its data.\n"
          "value         1.5 (threshold 1.2) at step 40 at 2026-01-01T00:00:00.000Z\n"
          "evidence      train_step_duration_seconds {rank=\"2\"} = 0.3\n"
          "              median = 0.2\n"
          "parameters    ratio = 1.2, share = 50\n"
          "incident      Incident ",
          found.id.substr(0, 12),
          " of job llm lasted from 2026-01-01T00:00:00.000Z to 2026-01-01T00:01:15.000Z and has 1 "
          "issue: StragglerRank{rank=\"2\"}.\n"
          "actions       2026-01-01T00:00:00.000Z  DECIDED  stop  dry run  job llm  "
          "default/stragglers/StragglerRank  policy\n"
          "notified      2026-01-01T00:00:00.000Z  slack team: found\n"
          "              2026-01-01T00:00:00.000Z  webhook pager: found, with 1 more of the "
          "incident; not delivered: status 404\n"
          "events        2026-01-01T00:00:00.000Z  FOUND     StragglerRank{rank=\"2\"}  warning  "
          "job llm  rank 2 is slow  [incident ",
          found.id.substr(0, 12),
          "]\n"
          "              2026-01-01T00:01:15.000Z  RESOLVED  StragglerRank{rank=\"2\"}  warning"
          "  job llm  cleared: rank 2 is slow; since 2026-01-01T00:00:00.000Z, lasted 1m15s"
          "  [incident ",
          found.id.substr(0, 12), "]\n"));
}

TEST(IssuePage, IssuePageText_ActionsNotServed_PrintsUnknown) {
  IssueView view;
  view.events = {std::make_shared<const IssueEvent>(FoundOnPage())};
  EXPECT_NE(IssuePageText(view, IssueNames()).find("actions       unknown"), std::string::npos);
  EXPECT_NE(IssuePageText(view, IssueNames()).find("notified      unknown"), std::string::npos);
  view.actions.emplace();
  view.notifications.emplace();
  EXPECT_NE(IssuePageText(view, IssueNames()).find("notified      none\n"), std::string::npos);
  EXPECT_NE(IssuePageText(view, IssueNames()).find("actions       none\n"), std::string::npos);
}

}  // namespace
}  // namespace pitwall
