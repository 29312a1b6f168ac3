#include "services/model/issues/issue.h"

#include <array>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/model/issues/enum_names.h"

namespace pitwall {
namespace {
constexpr std::array<std::string_view, 5> kTypes = {
    "io.pitwall.issue.found", "io.pitwall.issue.updated", "io.pitwall.issue.resolved",
    "io.pitwall.rule.status", "io.pitwall.job.changed"};
constexpr std::array<std::string_view, 6> kReasons = {
    "", "cleared", "no_data", "attempt_ended", "job_ended", "rule_removed"};
constexpr std::array<std::string_view, 7> kDetails = {"",          "completed", "failed", "died",
                                                      "cancelled", "stopped",   "silent"};
constexpr std::array<std::string_view, 6> kChanges = {"",          "started",       "attempt_began",
                                                      "rank_lost", "attempt_ended", "ended"};
constexpr std::array<std::string_view, 7> kStatuses = {
    "Unknown", "NoData", "InProgress", "NoIssuesFound", "IssuesFound", "Error", "Stopped"};
}  // namespace

std::string_view EventTypeName(EventType type) { return kTypes[static_cast<size_t>(type)]; }
std::string_view EndReasonName(EndReason reason) { return kReasons[static_cast<size_t>(reason)]; }
std::string_view EndDetailName(EndDetail detail) { return kDetails[static_cast<size_t>(detail)]; }
std::string_view JobChangeName(JobChange change) { return kChanges[static_cast<size_t>(change)]; }
std::string_view RuleStatusName(RuleStatus status) {
  return kStatuses[static_cast<size_t>(status)];
}
std::optional<EventType> ParseEventType(std::string_view name) {
  return ParseName<EventType>(kTypes, name);
}
std::optional<EndReason> ParseEndReason(std::string_view name) {
  return ParseName<EndReason>(kReasons, name);
}
std::optional<EndDetail> ParseEndDetail(std::string_view name) {
  return ParseName<EndDetail>(kDetails, name);
}
std::optional<JobChange> ParseJobChange(std::string_view name) {
  return ParseName<JobChange>(kChanges, name);
}
std::optional<RuleStatus> ParseRuleStatus(std::string_view name) {
  return ParseName<RuleStatus>(kStatuses, name);
}

bool RuleMatches(std::string_view wanted, std::string_view rule) {
  const auto ends_so = [wanted](std::string_view name) {
    return name.ends_with(wanted) &&
           (name.size() == wanted.size() || name[name.size() - wanted.size() - 1] == '/');
  };
  if (wanted.empty() || ends_so(rule)) return true;
  const size_t repeat = rule.rfind('#');
  return repeat != std::string_view::npos && ends_so(rule.substr(0, repeat));
}

std::string IssueKey(const IssueEvent& event) {
  return Cat(event.rule, "\xff", event.labels.ToString());
}

std::string IssueId(const IssueEvent& event) {
  if (event.sequence == 1 && !event.id.empty()) return event.id;
  IssueEvent first;
  first.job = event.job;
  first.attempt = event.attempt;
  first.rule = event.rule;
  first.labels = event.labels;
  first.active_since = event.active_since;
  first.sequence = 1;
  return MakeEventId(first);
}

std::string MakeEventId(const IssueEvent& event) {
  // Fields are delimited by separators that do not occur in UTF-8 text.
  const std::string_view of = event.type == EventType::kRuleStatus   ? "status"
                              : event.type == EventType::kJobChanged ? "job"
                                                                     : "issue";
  return StableHashHex(Cat(of, "\xff", event.job, "\xff", event.attempt, "\xff", event.rule, "\xff",
                           event.labels.ToString(), "\xff", event.active_since.ns(), "\xff",
                           event.sequence));
}

}  // namespace pitwall
