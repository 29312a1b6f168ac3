// Compares the history as of a point in time against a history that ended at that time.
#include "services/history/views/as_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/history/testing/vector_history.h"
#include "services/history/views/job_summary.h"
#include "services/history/views/steps/selectors.h"

namespace pitwall::history {
namespace {

using ::testing::HasSubstr;

IssueEventPtr EventAt(std::string rule, EventType type, double second) {
  auto event = std::make_shared<IssueEvent>();
  event->type = type;
  event->job = "j";
  event->rule = std::move(rule);
  event->severity = "warning";
  event->sequence = type == EventType::kIssueFound ? 1 : 2;
  event->active_since = event->started_at = EventTime::FromNs(AtSecond(1));
  event->time = EventTime::FromNs(AtSecond(second));
  event->id = MakeEventId(*event);
  return event;
}

// Deterministically fills the job with the data known at `now`.
void Fill(VectorHistory::Job* job, double now) {
  const auto known = [&](double second) { return second <= now; };
  JobOverview& life = job->life;
  life.first_ns = life.started_ns = AtSecond(0);
  life.last_ns = AtSecond(std::min(now, 300.0));
  if (known(300)) {
    life.ended_ns = AtSecond(300);
    life.end_detail = EndDetail::kCompleted;
  }
  AttemptLife first;
  first.attempt = 1;
  first.began_ns = AtSecond(0);
  if (known(20)) first.first_step_ns = AtSecond(20);
  const bool hangs = known(30) && !known(90);
  if (known(20)) first.last_step_ns = AtSecond(hangs ? 25 : std::min(now, 100.0));
  if (known(110)) {
    first.ended_ns = AtSecond(110);
    first.end_detail = EndDetail::kDied;
  }
  if (known(105)) first.lost = {{AtSecond(105), LostRank{.rank = 1}}};
  life.attempts = {first};
  if (known(150)) {
    AttemptLife second;
    second.attempt = 2;
    second.began_ns = AtSecond(150);
    if (known(300)) second.ended_ns = AtSecond(300);
    if (known(300)) second.end_detail = EndDetail::kCompleted;
    life.attempts.push_back(second);
  }
  std::mt19937 random(3);
  for (int rank = 0; rank < 3; ++rank) {
    const double since = rank * 40.0;
    if (known(since))
      life.sources[Cat(rank)] = {.source = Cat(rank),
                                 .node = "n",
                                 .rank = rank,
                                 .first_ns = AtSecond(since),
                                 .last_ns = AtSecond(std::min(now, known(150) ? 290.0 : 110.0)),
                                 .goodbye = known(290),
                                 .goodbye_ns = known(290) ? AtSecond(290) : 0};
    std::vector<double> seconds, values;
    for (int second = rank * 40; second < 290; ++second) {
      const auto value = static_cast<double>(random() % 100) / 100;
      if (!known(second)) continue;
      seconds.push_back(second);
      values.push_back(value);
    }
    if (!seconds.empty())
      job->columns.push_back(VectorHistory::ColumnOf(
          {{kMetricName, "x_ratio"}, {"node", "n"}, {"rank", Cat(rank)}}, seconds, values));
    for (int i = 0; i < 40; ++i) {
      const double start = static_cast<double>(random() % 290);
      const double end = start + static_cast<double>(random() % 9);
      const Span span{Span::Kind::kOperator,
                      i % 3 == 0 ? "a" : "b",
                      EventTime::FromNs(AtSecond(start)),
                      EventTime::FromNs(AtSecond(end)),
                      i,
                      "train"};
      if (known(end)) job->spans.push_back({Cat(rank), "n", rank, span});
    }
  }
  for (const auto& [type, second] :
       {std::pair(EventType::kIssueFound, 30.0), std::pair(EventType::kIssueResolved, 90.0)}) {
    if (!known(second)) continue;
    auto event = std::make_shared<IssueEvent>(*EventAt("p/g/A", type, second));
    event->labels = Labels({{"category", "hang"}});
    event->onset = EventTime::FromNs(type == EventType::kIssueFound ? AtSecond(25) : 0);
    event->id = MakeEventId(*event);
    job->events.push_back(event);
  }
  if (known(200)) job->events.push_back(EventAt("p/g/B", EventType::kIssueFound, 200));
  // Each attempt runs as a separate scheduler job. The newest event contains the name and owner of
  // that scheduler job.
  life.reference.name = known(150) ? "17" : "16";
  life.owner = known(150) ? "uid:2" : "uid:1";
  life.name = known(150) ? "second" : "first";
  for (const double second : {0.0, 150.0}) {
    if (!known(second)) continue;
    auto began = std::make_shared<IssueEvent>(*EventAt("", EventType::kJobChanged, second));
    began->job_change = JobChange::kAttemptBegan;
    began->reference.name = second > 0 ? "17" : "16";
    began->owner = second > 0 ? "uid:2" : "uid:1";
    began->job_name = second > 0 ? "second" : "first";
    job->events.push_back(began);
    if (second > 0 || !known(120)) continue;
    // The job ended before its second attempt started.
    auto ended = std::make_shared<IssueEvent>(*EventAt("", EventType::kJobChanged, 120));
    ended->job_change = JobChange::kEnded;
    ended->end_detail = EndDetail::kDied;
    job->events.push_back(ended);
    if (known(150)) continue;
    life.ended_ns = AtSecond(120);
    life.end_detail = EndDetail::kDied;
  }
  if (known(30)) life.found["p/g/A"] = 1;
  if (known(200)) life.found["p/g/B"] = 1;
  life.open.count = (known(30) && !known(90) ? 1 : 0) + (known(200) ? 1 : 0);
  if (life.open.count > 0) life.open.worst_severity = "warning";
  if (known(30) && !known(90)) life.open.stalled_since_ns = AtSecond(25);
  if (known(35)) {
    ActionEvent action;
    action.time = EventTime::FromNs(AtSecond(35));
    job->actions.push_back(action);
  }
  if (known(36)) {
    RankCapture capture;
    capture.time = EventTime::FromNs(AtSecond(36));
    job->captures.push_back(capture);
  }
  if (known(37)) {
    NotificationRecord record;
    record.time = EventTime::FromNs(AtSecond(37));
    job->notifications.push_back(record);
  }
}

void ExpectSameLife(const JobOverview& a, const JobOverview& b, double now) {
  EXPECT_EQ(a.last_ns, b.last_ns) << now;
  EXPECT_EQ(a.ended_ns, b.ended_ns) << now;
  EXPECT_EQ(a.end_detail, b.end_detail) << now;
  EXPECT_EQ(a.reference, b.reference) << now;
  EXPECT_EQ(a.owner, b.owner) << now;
  EXPECT_EQ(a.name, b.name) << now;
  EXPECT_EQ(a.found, b.found) << now;
  EXPECT_EQ(a.open.count, b.open.count) << now;
  EXPECT_EQ(a.open.worst_severity, b.open.worst_severity) << now;
  EXPECT_EQ(a.open.stalled_since_ns, b.open.stalled_since_ns) << now;
  ASSERT_EQ(a.attempts.size(), b.attempts.size()) << now;
  for (size_t i = 0; i < a.attempts.size(); ++i) {
    EXPECT_EQ(a.attempts[i].began_ns, b.attempts[i].began_ns) << now;
    EXPECT_EQ(a.attempts[i].ended_ns, b.attempts[i].ended_ns) << now;
    EXPECT_EQ(a.attempts[i].end_detail, b.attempts[i].end_detail) << now;
    EXPECT_EQ(a.attempts[i].first_step_ns, b.attempts[i].first_step_ns) << now;
    EXPECT_EQ(a.attempts[i].last_step_ns, b.attempts[i].last_step_ns) << now;
    EXPECT_EQ(a.attempts[i].lost, b.attempts[i].lost) << now;
  }
  ASSERT_EQ(a.sources.size(), b.sources.size()) << now;
  for (const auto& [id, source] : a.sources) {
    EXPECT_EQ(source.last_ns, b.sources.at(id).last_ns) << now;
    EXPECT_EQ(source.goodbye, b.sources.at(id).goodbye) << now;
    EXPECT_EQ(source.goodbye_ns, b.sources.at(id).goodbye_ns) << now;
  }
  EXPECT_EQ(Summarize(a).parts_ns, Summarize(b).parts_ns) << now;
}

TEST(HistoryAsOf, MatchesHistoryEndingAtSameTime) {
  VectorHistory whole;
  whole.Edit("j", [](auto* job) { Fill(job, 1000); });
  for (const double now : {0.0, 19.0, 20.0, 33.3, 39.0, 89.0, 104.0, 119.0, 120.0, 149.0, 205.0,
                           289.0, 300.0, 400.0}) {
    VectorHistory then;
    then.Edit("j", [&](auto* job) { Fill(job, now); });
    const HistoryAsOf cut(&whole, AtSecond(now));
    const StatusOr<JobLifePtr> a = cut.FindJob("j"), b = then.FindJob("j");
    ASSERT_TRUE(a.ok() && b.ok()) << a.status();
    ExpectSameLife(**a, **b, now);
    const SeriesQuery query = {"j", {SelectorOfMetric("x_ratio")}, {}, {}};
    SampleQuery samples;
    static_cast<SeriesQuery&>(samples) = query;
    const auto columns = *cut.Samples(samples), expected = *then.Samples(samples);
    ASSERT_EQ(columns.size(), expected.size()) << now;
    for (size_t i = 0; i < columns.size(); ++i) {
      EXPECT_EQ(columns[i].times, expected[i].times) << now;
      EXPECT_EQ(columns[i].values, expected[i].values) << now;
    }
    ASSERT_EQ((*cut.Series(query)).size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ((*cut.Series(query))[i].last_ns, (*then.Series(query))[i].last_ns);
    for (size_t tier = 0; tier < kTiers.size(); ++tier) {
      const auto rows = *cut.Rollups(query, tier), wanted = *then.Rollups(query, tier);
      ASSERT_EQ(rows.size(), wanted.size()) << now << " tier " << tier;
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].labels, wanted[i].labels);
        ASSERT_EQ(rows[i].rows.size(), wanted[i].rows.size()) << now << " tier " << tier;
        for (size_t r = 0; r < rows[i].rows.size(); ++r) {
          EXPECT_EQ(rows[i].rows[r].start_ns, wanted[i].rows[r].start_ns);
          EXPECT_EQ(rows[i].rows[r].count, wanted[i].rows[r].count) << now << " tier " << tier;
          EXPECT_DOUBLE_EQ(rows[i].rows[r].sum, wanted[i].rows[r].sum);
          EXPECT_EQ(rows[i].rows[r].last, wanted[i].rows[r].last);
        }
      }
    }
    const double half[] = {0.5};
    const auto quantiles = *cut.Quantiles(query, half), medians = *then.Quantiles(query, half);
    ASSERT_EQ(quantiles.size(), medians.size());
    for (size_t i = 0; i < medians.size(); ++i)
      EXPECT_EQ(quantiles[i].quantiles, medians[i].quantiles) << now;
    const SpanQuery spans = {.job = "j"};
    EXPECT_EQ((*cut.Spans(spans)).size(), (*then.Spans(spans)).size()) << now;
    const auto totals = *cut.Operators(spans), sums = *then.Operators(spans);
    ASSERT_EQ(totals.size(), sums.size()) << now;
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_EQ(totals[i].count, sums[i].count) << now;
      EXPECT_EQ(totals[i].total_ns, sums[i].total_ns) << now;
    }
    EXPECT_EQ((*cut.Events("j")).size(), (*then.Events("j")).size()) << now;
    EXPECT_EQ((*cut.Actions("j")).size(), (*then.Actions("j")).size()) << now;
    EXPECT_EQ((*cut.Captures("j")).size(), (*then.Captures("j")).size()) << now;
    EXPECT_EQ(cut.Jobs().size(), 1U);
  }
}

TEST(HistoryAsOf, TimeBeforeJobStart_ReturnsNotFound) {
  VectorHistory whole;
  whole.Edit("j", [](auto* job) { Fill(job, 1000); });
  const HistoryAsOf cut(&whole, AtSecond(-1));
  EXPECT_TRUE(absl::IsNotFound(cut.FindJob("j").status()));
  EXPECT_THAT(std::string(cut.FindJob("j").status().message()),
              HasSubstr("before the job's first data"));
  EXPECT_TRUE(cut.Jobs().empty());
}

}  // namespace
}  // namespace pitwall::history
