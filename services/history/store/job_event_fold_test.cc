#include "services/history/store/job_event_fold.h"

#include <gtest/gtest.h>

#include "services/history/store/stored_job.h"
#include "services/history/testing/vector_history.h"

namespace pitwall::history {
namespace {

IssueEvent EventOf(std::string rule, EventType type, std::string category, int64_t onset_ns) {
  IssueEvent event;
  event.type = type;
  event.job = "j";
  event.rule = std::move(rule);
  event.severity = "critical";
  event.labels = Labels({{"category", std::move(category)}});
  event.sequence = type == EventType::kIssueFound ? 1 : 2;
  event.active_since = event.started_at = EventTime::FromNs(AtSecond(1));
  event.time = EventTime::FromNs(AtSecond(50));
  event.onset = EventTime::FromNs(onset_ns);
  event.id = MakeEventId(event);
  return event;
}

int64_t StalledSince(const JobEventFold& fold) {
  JobOverview life;
  fold.Fill(&life);
  return life.open.stalled_since_ns;
}

TEST(JobEventFold, StallStartsAtFirstOnsetOfOpenHangs) {
  JobEventFold fold;
  fold.OnEvent(EventOf("a", EventType::kIssueFound, "memory", AtSecond(2)));
  EXPECT_EQ(StalledSince(fold), 0) << "an onset of another category";
  fold.OnEvent(EventOf("b", EventType::kIssueFound, "hang", AtSecond(40)));
  fold.OnEvent(EventOf("c", EventType::kIssueFound, "progress", AtSecond(39)));
  fold.OnEvent(EventOf("d", EventType::kIssueFound, "hang", 0));
  EXPECT_EQ(StalledSince(fold), AtSecond(39));
  fold.OnEvent(EventOf("c", EventType::kIssueResolved, "progress", 0));
  EXPECT_EQ(StalledSince(fold), AtSecond(40));
  fold.OnEvent(EventOf("b", EventType::kIssueUpdated, "hang", AtSecond(45)));
  EXPECT_EQ(StalledSince(fold), AtSecond(40)) << "set by its first event";
  fold.OnEvent(EventOf("b", EventType::kIssueResolved, "hang", 0));
  EXPECT_EQ(StalledSince(fold), 0);
}

// With a telemetry backlog, the end of a job is read long before the job's telemetry.
TEST(StoredJob, EndedJob_WindowIsOverOnceTelemetryIsRead) {
  const auto read_up_to = [](StoredJob* job, int64_t second) {
    SourceMeta boot;
    boot.origin = std::make_shared<const Origin>();
    boot.last_ns = AtSecond(second);
    job->telemetry().Restore(std::move(boot));
  };
  const int64_t window = WindowOf(AtSecond(0));
  const int64_t grace = 60 * kNanosPerSecond;
  StoredJob job("j", 1);
  read_up_to(&job, 100);
  EXPECT_FALSE(job.IsOver(window, grace, false));
  IssueEvent ended;
  ended.type = EventType::kJobChanged;
  ended.job_change = JobChange::kEnded;
  ended.time = EventTime::FromNs(AtSecond(200));
  job.OnEvent(ended);
  // The telemetry may end before the job does, because dead ranks send no data.
  EXPECT_TRUE(job.IsOver(window, grace, false));
  EXPECT_FALSE(job.IsOver(window, grace, true));
  read_up_to(&job, 200);
  EXPECT_TRUE(job.IsOver(window, grace, true));
  StoredJob running("j", 2);
  const int64_t end = (window + kWindowNs - AtSecond(0)) / kNanosPerSecond;
  read_up_to(&running, end + 60);
  EXPECT_FALSE(running.IsOver(window, grace, true));
  read_up_to(&running, end + 61);
  EXPECT_TRUE(running.IsOver(window, grace, true));
}

}  // namespace
}  // namespace pitwall::history
