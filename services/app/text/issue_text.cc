#include "services/app/text/issue_text.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "services/base/clock.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/model/issues/incident_roots.h"
#include "services/model/issues/job_end.h"
#include "services/notifier/policies/incident_policy.h"

namespace pitwall {

namespace {

// Returns a prefix of an ID. The prefix is unique in practice, and --incident accepts it.
std::string_view Short(std::string_view id) { return id.substr(0, 12); }

std::string EndSuffix(const IssueEvent& event) {
  const std::string text = JobEndText(event.end_detail, event.summary);
  return text.empty() ? "" : Cat(": ", text);
}

std::string JobLine(const IssueEvent& event, std::string_view job) {
  std::string what;
  switch (event.job_change) {
    case JobChange::kNone:
      what = "changed";
      break;
    case JobChange::kStarted:
      what = "started";
      break;
    case JobChange::kAttemptBegan:
      what = Cat("attempt ", event.attempt, " began");
      break;
    case JobChange::kRankLost: {
      what = LostRankText(event.lost_rank.value_or(LostRank()));
      break;
    }
    case JobChange::kAttemptEnded:
      what = Cat("attempt ", event.attempt, " ended", EndSuffix(event));
      break;
    case JobChange::kEnded:
      what = Cat("ended", EndSuffix(event));
      break;
  }
  return Cat(TimeText(event.time.ns()), "  JOB       job ", job, ": ", what);
}

}  // namespace

std::string TimeText(int64_t ns) {
  return ns == 0 ? "-"
                 : absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(ns),
                                    absl::UTCTimeZone());
}

std::string LastedText(int64_t ns) {
  const int64_t unit = ns >= 60 * kNanosPerSecond ? kNanosPerSecond : kNanosPerSecond / 1000;
  const int64_t rounded = std::max<int64_t>(0, ns) / unit * unit;
  if (rounded < kNanosPerSecond || rounded % kNanosPerSecond == 0) return FormatDuration(rounded);
  if (rounded >= 60 * kNanosPerSecond) return FormatDuration(rounded);
  return Cat(FormatDouble(static_cast<double>(rounded) / 1e9), "s");
}

std::string EndText(const IssueEvent& event) {
  if (event.end_reason == EndReason::kCleared) return "cleared";
  return Cat("ended: ", event.end_detail != EndDetail::kNone ? EndDetailName(event.end_detail)
                                                             : EndReasonName(event.end_reason));
}

std::string LostRankText(const LostRank& lost) {
  return Cat("rank ", lost.rank, " on ", lost.node,
             lost.signal.has_value()      ? Cat(" was killed by signal ", *lost.signal)
             : lost.exit_code.has_value() ? Cat(" ended with exit code ", *lost.exit_code)
                                          : " ended without a goodbye",
             lost.oom_killed ? ", out of memory" : "");
}

std::string IssueName(const IssueEvent& event) { return notifier::IssueTitle(event); }

void IssueNames::Learn(const IssueEvent& event) {
  if (event.type != EventType::kRuleStatus && event.type != EventType::kJobChanged)
    Keep(IssueId(event), IssueName(event));
}

void IssueNames::Keep(std::string id, std::string name) {
  const auto [at, added] = names_.insert_or_assign(std::move(id), std::move(name));
  if (!added) return;
  order_.push_back(at->first);
  if (order_.size() <= max_) return;
  names_.erase(order_.front());
  order_.pop_front();
}

std::string IssueNames::Name(std::string_view id) const {
  const auto at = names_.find(id);
  return at == names_.end() || at->second.empty() ? Cat("issue ", Short(id)) : at->second;
}

std::string IssueLine(const IssueEvent& event, const IssueNames& names) {
  const std::string_view job = event.job_name.empty() ? event.job : event.job_name;
  if (event.type == EventType::kRuleStatus) {
    return Cat(TimeText(event.time.ns()), "  ", RuleStatusName(event.status), "  ", event.rule,
               "  job ", event.job, "  ", event.status_reason);
  }
  if (event.type == EventType::kJobChanged) return JobLine(event, job);
  // Only issues with the end reason "cleared" are printed as resolved.
  const std::string_view what = event.type == EventType::kIssueFound      ? "FOUND   "
                                : event.end_reason == EndReason::kCleared ? "RESOLVED"
                                : event.type == EventType::kIssueResolved ? "ENDED   "
                                                                          : "UPDATED ";
  std::string line = Cat(TimeText(event.time.ns()), "  ", what, "  ", IssueName(event), "  ",
                         event.severity, "  job ", job, "  ");
  if (event.type == EventType::kIssueResolved) {
    // The line repeats the summary, so readers do not need the corresponding FOUND line.
    CatTo(line, EndText(event), event.summary.empty() ? "" : ": ", event.summary, "; since ",
          TimeText(event.active_since.ns()), ", lasted ",
          LastedText((event.ended_at - event.active_since).ns()));
  } else {
    line += event.summary;
  }
  if (!event.root_cause.empty()) CatTo(line, "  because of ", names.Name(event.root_cause));
  if (!event.incident.empty()) CatTo(line, "  [incident ", Short(event.incident), "]");
  return line;
}

std::string IncidentLine(const std::vector<IssueEventPtr>& issues, const IssueNames& names) {
  if (issues.empty()) return "incident not found";
  std::map<std::string, size_t> explained;
  size_t open = 0;
  int64_t since_ns = INT64_MAX, until_ns = 0;
  for (const IssueEventPtr& event : issues) {
    if (!event->root_cause.empty()) ++explained[event->root_cause];
    open += event->type != EventType::kIssueResolved;
    since_ns = std::min(since_ns, event->active_since.ns());
    until_ns = std::max(until_ns, event->ended_at.ns());
  }
  const auto listed = [&](std::string_view id) {
    return std::any_of(issues.begin(), issues.end(),
                       [&](const IssueEventPtr& event) { return IssueId(*event) == id; });
  };
  // Keeps all equally likely roots, including issues not yet named as a cause by any event. If a
  // cause is detected after its symptom, only the symptom's next event names the cause. A root
  // outside the list is used only if the list contains no root.
  std::vector<std::string> ids;
  std::vector<IncidentIssue> candidates;
  ids.reserve(issues.size());
  for (const IssueEventPtr& event : issues) {
    if (!event->root_cause.empty()) continue;
    candidates.push_back({ids.emplace_back(IssueId(*event)), event.get()});
  }
  SortByRoot(&candidates);
  candidates.resize(LikelyRoots(candidates));
  std::vector<std::string> roots;
  for (const IncidentIssue& root : candidates) roots.emplace_back(root.id);
  for (const auto& [id, count] : explained) {
    if (candidates.empty() && !listed(id)) roots.push_back(id);
  }
  const IssueEvent& any = *issues[0];
  std::string line = Cat("Incident ", Short(any.incident), " of job ",
                         any.job_name.empty() ? any.job : any.job_name, " ",
                         open > 0 ? "began at " : "lasted from ", TimeText(since_ns));
  if (open == 0) CatTo(line, " to ", TimeText(until_ns));
  CatTo(line, " and has ", issues.size(), issues.size() == 1 ? " issue" : " issues");
  if (open > 0 && open < issues.size()) CatTo(line, ", ", open, " of them open");
  // A single issue is its own root cause.
  if (issues.size() == 1 && any.root_cause.empty()) return Cat(line, ": ", IssueName(any), ".");
  constexpr size_t kNamed = 3;
  line += "; its root cause is ";
  for (size_t i = 0; i < roots.size() && i < kNamed; ++i) {
    CatTo(line, i > 0 ? " or " : "", names.Name(roots[i]));
    if (const auto count = explained.find(roots[i]); count != explained.end())
      CatTo(line, " (explains ", count->second, ")");
  }
  if (roots.size() > kNamed) CatTo(line, " or ", roots.size() - kNamed, " more");
  return line + ".";
}

}  // namespace pitwall
