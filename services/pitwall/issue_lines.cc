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
  if (event.type != EventType::kRuleStatus) Keep(IssueId(event), IssueName(event));
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
  const std::string_view what = event.type == EventType::kIssueFound      ? "FOUND   "
                                : event.type == EventType::kIssueResolved ? "RESOLVED"
                                                                          : "UPDATED ";
  std::string line = Cat(When(event.time_ns), "  ", what, "  ", event.alert, "  ", event.severity,
                         "  job ", job, "  ",
                         event.type == EventType::kIssueResolved ? EndReasonName(event.end_reason)
                                                                 : std::string_view(event.summary));
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
