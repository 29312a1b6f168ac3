#include "services/history/views/as_of.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "services/base/text/strings.h"
#include "services/history/views/issue_list.h"
#include "services/model/issues/incident_roots.h"
#include "services/model/issues/job_end.h"

namespace pitwall::history {
namespace {

int64_t KnownBy(int64_t time_ns, int64_t at_ns) { return time_ns > at_ns ? 0 : time_ns; }

AttemptLife AttemptAt(AttemptLife attempt, int64_t at_ns) {
  attempt.began_ns = KnownBy(attempt.began_ns, at_ns);
  attempt.first_step_ns = KnownBy(attempt.first_step_ns, at_ns);
  attempt.last_step_ns = attempt.first_step_ns == 0 ? 0 : std::min(attempt.last_step_ns, at_ns);
  if (attempt.ended_ns > at_ns) {
    attempt.ended_ns = 0;
    attempt.end_detail = EndDetail::kNone;
    attempt.end_text.clear();
  }
  std::erase_if(attempt.lost, [&](const auto& lost) { return lost.first > at_ns; });
  return attempt;
}

// Returns the earliest time of the attempt.
int64_t FirstOf(const AttemptLife& attempt) {
  if (attempt.began_ns != 0) return attempt.began_ns;
  return attempt.first_step_ns != 0 ? attempt.first_step_ns : attempt.ended_ns;
}

}  // namespace

StatusOr<JobLifePtr> HistoryAsOf::LifeOf(const JobOverview& now) const {
  if (now.first_ns > at_ns_)
    return NotFound(Cat("at: must not be before the job's first data (got ", at_ns_,
                        ", first data at ", now.first_ns, ")"));
  auto life = std::make_shared<JobOverview>(now);
  life->last_ns = std::min(life->last_ns, at_ns_);
  life->started_ns = KnownBy(life->started_ns, at_ns_);
  if (life->ended_ns > at_ns_) {
    life->ended_ns = 0;
    life->end_detail = EndDetail::kNone;
    life->end_text.clear();
  }
  life->attempts.clear();
  for (const AttemptLife& attempt : now.attempts) {
    if (FirstOf(attempt) <= at_ns_) life->attempts.push_back(AttemptAt(attempt, at_ns_));
  }
  std::erase_if(life->sources, [&](const auto& one) { return one.second.first_ns > at_ns_; });
  for (auto& [id, source] : life->sources) {
    if (source.last_ns <= at_ns_ && source.goodbye_ns <= at_ns_) continue;
    source.last_ns = std::min(source.last_ns, at_ns_);
    source.goodbye = false;
    source.goodbye_ns = 0;
  }
  life->found.clear();
  life->open = {};
  ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, Events(now.id));
  // Each attempt may run as a different scheduler job. A new attempt overrides an earlier end of
  // the job.
  const IssueEvent* end = nullptr;
  for (const IssueEventPtr& event : events) {
    if (event->job_change == JobChange::kEnded) end = event.get();
    if (event->job_change == JobChange::kStarted || event->job_change == JobChange::kAttemptBegan)
      end = nullptr;
    if (!event->job_name.empty()) life->name = event->job_name;
    if (!event->owner.empty()) life->owner = event->owner;
    if (event->reference != JobReference()) life->reference = event->reference;
  }
  // No rank runs between two attempts. If a source continues in the next attempt, its last data at
  // `at_ns` cannot be later than the end of the previous attempt.
  const size_t begun = life->attempts.size();
  const int64_t over_ns = begun == 0 ? 0 : life->attempts.back().ended_ns;
  if (over_ns != 0 && begun < now.attempts.size()) {
    for (auto& [id, source] : life->sources) {
      if (source.rank >= 0) source.last_ns = std::min(source.last_ns, over_ns);
    }
  }
  if (end != nullptr) {
    life->ended_ns = end->time.ns();
    life->end_detail = end->end_detail;
    life->end_text = JobEndText(end->end_detail, end->summary);
  }
  for (const Issue& issue : IssuesOf(events)) {
    const IssueEvent& newest = issue.newest();
    ++life->found[newest.rule];
    if (!issue.open()) continue;
    if (life->open.count++ == 0 ||
        SeverityRank(newest.severity) < SeverityRank(life->open.worst_severity))
      life->open.worst_severity = newest.severity;
    const int64_t stalled_ns = issue.stall_onset_ns();
    if (life->open.stalled_since_ns == 0 ||
        (stalled_ns != 0 && stalled_ns < life->open.stalled_since_ns))
      life->open.stalled_since_ns = stalled_ns;
  }
  // Later steps were not known yet. If the job was stalled at that time, its last step is the one
  // where it stalled.
  if (life->open.stalled_since_ns != 0 && begun > 0 &&
      now.attempts[begun - 1].last_step_ns > at_ns_)
    life->attempts.back().last_step_ns = life->open.stalled_since_ns;
  return JobLifePtr(std::move(life));
}

JobList HistoryAsOf::ListJobs() const {
  JobList now = history_.ListJobs();
  JobList out{{}, std::move(now.missing)};
  for (const JobLifePtr& job : now.jobs) {
    if (StatusOr<JobLifePtr> life = LifeOf(*job); life.ok()) out.jobs.push_back(*std::move(life));
  }
  std::stable_sort(out.jobs.begin(), out.jobs.end(), [](const JobLifePtr& a, const JobLifePtr& b) {
    return a->last_ns > b->last_ns;
  });
  return out;
}

StatusOr<JobLifePtr> HistoryAsOf::FindJob(std::string_view job) const {
  ASSIGN_OR_RETURN(const JobLifePtr now, history_.FindJob(job));
  return LifeOf(*now);
}

StatusOr<std::vector<SeriesInfo>> HistoryAsOf::Series(const SeriesQuery& query) const {
  ASSIGN_OR_RETURN(std::vector<SeriesInfo> out, history_.Series(Cut(query)));
  for (SeriesInfo& info : out) info.last_ns = std::min(info.last_ns, at_ns_);
  return out;
}

StatusOr<std::vector<SampleColumn>> HistoryAsOf::Samples(const SampleQuery& query) const {
  return history_.Samples(Cut(query));
}

Status HistoryAsOf::VisitStepWindows(const SampleQuery& query,
                                     const std::function<Status(const StepWindows&)>& visit) const {
  return history_.VisitStepWindows(Cut(query), visit);
}

// Returns the completed rows and, for an incomplete row, the aggregate of the samples so far.
StatusOr<std::vector<RollupColumn>> HistoryAsOf::Rollups(const SeriesQuery& query,
                                                         size_t tier) const {
  const int64_t length = kTiers[tier];
  const int64_t open_ns = (at_ns_ + 1) / length * length;
  SeriesQuery over = Cut(query);
  over.range.to_ns = std::max(over.range.from_ns, std::min(over.range.to_ns, open_ns));
  ASSIGN_OR_RETURN(std::vector<RollupColumn> out, history_.Rollups(over, tier));
  if (open_ns > at_ns_ || query.range.to_ns <= open_ns || query.range.from_ns > open_ns) return out;
  SampleQuery open;
  static_cast<SeriesQuery&>(open) = query;
  open.range = {open_ns, at_ns_ + 1};
  ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, history_.Samples(open));
  for (const SampleColumn& column : columns) {
    const std::vector<RollupRow> rows = RollUp(column.times, column.values, tier);
    if (rows.empty()) continue;
    const auto at = std::lower_bound(
        out.begin(), out.end(), column.labels,
        [](const RollupColumn& one, const Labels& labels) { return one.labels < labels; });
    if (at != out.end() && at->labels == column.labels) {
      at->rows.push_back(rows[0]);
    } else {
      out.insert(at, {column.labels, column.kind, rows});
    }
  }
  return out;
}

StatusOr<std::vector<QuantileRow>> HistoryAsOf::Quantiles(const SeriesQuery& query,
                                                          std::span<const double> quantiles) const {
  return history_.Quantiles(Cut(query), quantiles);
}

StatusOr<SpanPage> HistoryAsOf::SpansPage(const SpanQuery& query, size_t first, size_t most) const {
  ASSIGN_OR_RETURN(std::vector<SpanRow> all, history_.Spans(Cut(query)));
  std::erase_if(all, [&](const SpanRow& row) { return row.span.end.ns() > at_ns_; });
  return PageOf(std::move(all), first, most);
}

StatusOr<std::vector<OperatorTotal>> HistoryAsOf::Operators(const SpanQuery& query) const {
  const SpanQuery cut = Cut(query);
  ASSIGN_OR_RETURN(std::vector<OperatorTotal> out, history_.Operators(cut));
  SpanQuery running = cut;
  running.range = {at_ns_, at_ns_ + 1};
  ASSIGN_OR_RETURN(const std::vector<SpanRow> spans, history_.Spans(running));
  std::map<std::tuple<int64_t, Span::Kind, std::string>, std::pair<uint64_t, int64_t>> more;
  for (const SpanRow& row : spans) {
    const Span& span = row.span;
    if (span.end.ns() <= at_ns_ || span.start.ns() < cut.range.from_ns ||
        span.start.ns() >= cut.range.to_ns)
      continue;
    auto& [count, total] = more[{row.rank, span.kind, span.name}];
    ++count;
    total += (span.end - span.start).ns();
  }
  for (OperatorTotal& total : out) {
    const auto found = more.find({total.rank, total.kind, total.name});
    if (found == more.end()) continue;
    total.count -= std::min(total.count, found->second.first);
    total.total_ns -= found->second.second;
  }
  std::erase_if(out, [](const OperatorTotal& total) { return total.count == 0; });
  return out;
}

StatusOr<JobRecords> HistoryAsOf::Records(std::string_view job, EventTopic topic) const {
  ASSIGN_OR_RETURN(JobRecords out, history_.Records(job, topic));
  const auto later = [&](const auto& record) { return record.time.ns() > at_ns_; };
  std::erase_if(out.events, [&](const IssueEventPtr& event) { return later(*event); });
  std::erase_if(out.actions, later);
  std::erase_if(out.captures, later);
  std::erase_if(out.notifications, later);
  return out;
}

}  // namespace pitwall::history
