#include "services/pitwall/issue_lines.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "services/base/strings.h"

namespace pitwall {

namespace {

// As much of an id as tells issues apart in practice; --incident takes a beginning.
std::string_view Short(std::string_view id) { return id.substr(0, 12); }

std::string When(int64_t ns) {
  return ns == 0 ? "-"
                 : absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(ns),
                                    absl::UTCTimeZone());
}

// "ended: died": an end that is no recovery never reads as one.
std::string EndText(const IssueEvent& event) {
  if (event.end_reason == EndReason::kCleared) return "cleared";
  return Cat("ended: ", event.end_detail != EndDetail::kNone ? EndDetailName(event.end_detail)
                                                             : EndReasonName(event.end_reason));
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
      const LostRank lost = event.lost_rank.value_or(LostRank());
      what = Cat("rank ", lost.rank, " on ", lost.node,
                 lost.signal.has_value()      ? Cat(" was killed by signal ", *lost.signal)
                 : lost.exit_code.has_value() ? Cat(" ended with exit code ", *lost.exit_code)
                                              : " ended without goodbye",
                 lost.oom_killed ? ", out of memory" : "");
      break;
    }
    case JobChange::kAttemptEnded:
      what = Cat("attempt ", event.attempt, " ended");
      if (event.end_detail != EndDetail::kNone) CatTo(what, ": ", EndDetailName(event.end_detail));
      break;
    case JobChange::kEnded:
      what = "ended";
      if (event.end_detail != EndDetail::kNone) CatTo(what, ": ", EndDetailName(event.end_detail));
      break;
  }
  return Cat(When(event.time_ns), "  JOB       job ", job, ": ", what);
}

}  // namespace

std::string IssueName(const IssueEvent& event) {
  std::vector<Label> labels;
  for (const Label& label : event.labels) {
    if (label.name != "alertname" && label.name != "severity") labels.push_back(label);
  }
  if (labels.empty()) return event.alert;
  return Cat(event.alert, Labels::FromPairs(std::move(labels)).ToString());
}

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
    return Cat(When(event.time_ns), "  ", RuleStatusName(event.status), "  ", event.rule, "  job ",
               event.job, "  ", event.status_reason);
  }
  if (event.type == EventType::kJobChanged) return JobLine(event, job);
  // Only what cleared is resolved.
  const std::string_view what = event.type == EventType::kIssueFound      ? "FOUND   "
                                : event.end_reason == EndReason::kCleared ? "RESOLVED"
                                : event.type == EventType::kIssueResolved ? "ENDED   "
                                                                          : "UPDATED ";
  std::string line =
      Cat(When(event.time_ns), "  ", what, "  ", event.alert, "  ", event.severity, "  job ", job,
          "  ", event.type == EventType::kIssueResolved ? EndText(event) : event.summary);
  if (!event.root_cause.empty()) CatTo(line, "  because of ", names.Name(event.root_cause));
  if (!event.incident.empty()) CatTo(line, "  [incident ", Short(event.incident), "]");
  return line;
}

std::string IncidentLine(const std::vector<IssueEventPtr>& issues, const IssueNames& names) {
  if (issues.empty()) return "no such incident";
  std::map<std::string, size_t> explained;
  std::map<std::string, int64_t> began;
  for (const IssueEventPtr& event : issues) {
    if (!event->root_cause.empty()) ++explained[event->root_cause];
    began[IssueId(*event)] = event->active_since_ns;
  }
  std::string line = Cat("incident ", issues[0]->incident, ": ", issues.size(),
                         issues.size() == 1 ? " issue" : " issues");
  if (explained.empty()) return line + ", no root cause known";
  const auto onset = [&](const std::string& id) {
    const auto at = began.find(id);
    return at == began.end() ? INT64_MAX : at->second;
  };
  const auto most =
      std::min_element(explained.begin(), explained.end(), [&](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : onset(a.first) < onset(b.first);
      });
  CatTo(line, ", most likely root cause: ", names.Name(most->first), " (explains ", most->second,
        ")");
  return line;
}

}  // namespace pitwall
