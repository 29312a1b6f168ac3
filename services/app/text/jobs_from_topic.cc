#include "services/app/text/jobs_from_topic.h"

#include <algorithm>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/model/issues/job_end.h"
#include "services/model/position.h"

namespace pitwall {
namespace {

constexpr size_t kStatusesKept = 8;
// Maximum time from the last goodbye to the end of a job: the five seconds in which a rank can
// return, plus the adjacent ticks. If a job ends due to silence, its ranks have sent no data for
// two minutes.
constexpr int64_t kGoodbyeToEndNs = 8 * kNanosPerSecond;
constexpr int64_t kSilenceToEndNs = 128 * kNanosPerSecond;

// Returns the time of the last data from the job's ranks, according to the job's events: the time
// at which the last rank was lost or sent a goodbye. Returns EventTime::Latest() if that time is
// unknown.
EventTime DataUntil(const JobRecord& job) {
  if (!job.ended()) return EventTime::Latest();
  const AttemptRecord* last = job.attempts.empty() ? nullptr : &job.attempts.rbegin()->second;
  int64_t end_ns = job.ended_ns;
  if (last != nullptr && last->ended_ns != 0) end_ns = std::min(end_ns, last->ended_ns);
  const EndDetail detail = last != nullptr ? last->end_detail : job.end_detail;
  int64_t until_ns = end_ns - (detail == EndDetail::kSilent ? kSilenceToEndNs : kGoodbyeToEndNs);
  if (last != nullptr && !last->lost.empty())
    until_ns = std::min(until_ns, last->lost.back().first);
  return EventTime::FromNs(until_ns);
}

}  // namespace

RuleVerdict JobRecord::VerdictOf(const std::string& rule) const {
  const auto at = statuses.find(rule);
  return at == statuses.end() ? RuleVerdict() : pitwall::VerdictOf(at->second, DataUntil(*this));
}

void JobsFromTopic::Apply(const IssueEventPtr& event) {
  const auto [at, fresh] = jobs_.try_emplace(event->job);
  JobRecord& job = at->second;
  if (fresh) {
    job.id = event->job;
    job.first_ns = event->time.ns();
    if (jobs_.size() > max_jobs_) {
      auto oldest = jobs_.end();
      for (auto it = jobs_.begin(); it != jobs_.end(); ++it) {
        if (it != at && (oldest == jobs_.end() || it->second.last_ns < oldest->second.last_ns))
          oldest = it;
      }
      if (oldest != jobs_.end()) jobs_.erase(oldest);
    }
  }
  if (!event->job_name.empty()) job.name = event->job_name;
  if (!event->owner.empty()) job.owner = event->owner;
  job.first_ns = std::min(job.first_ns, event->time.ns());
  job.last_ns = std::max(job.last_ns, event->time.ns());
  switch (event->type) {
    case EventType::kRuleStatus: {
      std::vector<IssueEventPtr>& statuses = job.statuses[event->rule];
      if (statuses.size() == kStatusesKept) statuses.erase(statuses.begin());
      statuses.push_back(event);
      return;
    }
    case EventType::kJobChanged:
      return ApplyChange(*event, &job);
    case EventType::kIssueFound:
    case EventType::kIssueUpdated:
    case EventType::kIssueResolved:
      return ApplyIssue(event, &job);
  }
}

void JobsFromTopic::ApplyChange(const IssueEvent& event, JobRecord* job) {
  const auto attempt = [&]() -> AttemptRecord& {
    AttemptRecord& record = job->attempts[event.attempt];
    record.attempt = event.attempt;
    return record;
  };
  switch (event.job_change) {
    case JobChange::kNone:
      return;
    case JobChange::kStarted:
      break;
    case JobChange::kAttemptBegan:
      attempt().began_ns = event.time.ns();
      break;
    case JobChange::kRankLost:
      if (event.lost_rank.has_value())
        attempt().lost.emplace_back(event.time.ns(), *event.lost_rank);
      return;
    case JobChange::kAttemptEnded:
      attempt().ended_ns = event.time.ns();
      attempt().end_detail = event.end_detail;
      attempt().end_text = JobEndText(event.end_detail, event.summary);
      return;
    case JobChange::kEnded:
      job->ended_ns = event.time.ns();
      job->end_detail = event.end_detail;
      job->end_text = JobEndText(event.end_detail, event.summary);
      return;
  }
  // A job that ended due to silence or after its grace period may continue later under the same ID.
  job->ended_ns = 0;
  job->end_detail = EndDetail::kNone;
  job->end_text.clear();
}

void JobsFromTopic::ApplyIssue(const IssueEventPtr& event, JobRecord* job) {
  const std::string id = IssueId(*event);
  if (event->type == EventType::kIssueFound) ++job->found[event->rule];
  if (event->type != EventType::kIssueResolved) {
    job->open_issues[id] = event;
    return;
  }
  job->open_issues.erase(id);
  job->ended_count += job->ended_issues.insert_or_assign(id, event).second ? 1 : 0;
  if (job->ended_issues.size() <= max_ended_issues_) return;
  job->ended_issues.erase(std::min_element(
      job->ended_issues.begin(), job->ended_issues.end(),
      [](const auto& a, const auto& b) { return a.second->time < b.second->time; }));
}

std::vector<const JobRecord*> JobsFromTopic::Jobs() const {
  std::vector<const JobRecord*> out;
  for (const auto& [id, job] : jobs_) out.push_back(&job);
  std::sort(out.begin(), out.end(), [](const JobRecord* a, const JobRecord* b) {
    return std::pair(a->first_ns, std::string_view(a->id)) <
           std::pair(b->first_ns, std::string_view(b->id));
  });
  return out;
}

StatusOr<const JobRecord*> JobsFromTopic::Find(std::string_view job) const {
  if (job.empty())
    return InvalidArgument("job: value is missing; `pitwall jobs list` prints the jobs");
  if (const auto at = jobs_.find(job); at != jobs_.end()) return &at->second;
  std::vector<const JobRecord*> named, begin_so;
  for (const auto& [id, record] : jobs_) {
    if (record.name == job) named.push_back(&record);
    if (id.starts_with(job)) begin_so.push_back(&record);
  }
  const std::vector<const JobRecord*>& found = named.empty() ? begin_so : named;
  if (found.empty())
    return NotFound(Cat("job ", Quote(job), ": not found; `pitwall jobs list` prints the jobs"));
  if (found.size() == 1) return found[0];
  std::string ids;
  for (size_t i = 0; i < found.size() && i < 3; ++i) CatTo(ids, i > 0 ? ", " : "", found[i]->id);
  return InvalidArgument(Cat("job ", Quote(job), ": ", found.size(), " jobs have this ",
                             named.empty() ? "ID prefix" : "name", " (", ids,
                             found.size() > 3 ? ", …" : "", "); specify the full ID"));
}

}  // namespace pitwall
