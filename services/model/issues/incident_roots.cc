#include "services/model/issues/incident_roots.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "services/model/issues/cause_class.h"

namespace pitwall {
namespace {

// Maximum difference between two onsets whose order is considered uncertain.
constexpr Duration kRivalsApart = Duration::Seconds(120);

bool IsOpen(const IssueEvent& event) { return event.type != EventType::kIssueResolved; }

}  // namespace

int SeverityRank(std::string_view severity) {
  if (severity == "critical") return 0;
  if (severity == "warning") return 1;
  return severity == "info" ? 2 : 3;
}

bool IsLikelierRoot(const IncidentIssue& a, const IncidentIssue& b,
                    std::string_view notified_root) {
  const auto key = [&](const IncidentIssue& issue) {
    return std::tuple(!issue.event->root_cause.empty(), !IsOpen(*issue.event),
                      RootOrderOf(*issue.event), issue.id != notified_root, issue.id);
  };
  return key(a) < key(b);
}

void SortByRoot(std::vector<IncidentIssue>* issues, std::string_view notified_root) {
  std::sort(issues->begin(), issues->end(), [&](const IncidentIssue& a, const IncidentIssue& b) {
    return IsLikelierRoot(a, b, notified_root);
  });
}

size_t LikelyRoots(std::span<const IncidentIssue> sorted) {
  if (sorted.empty()) return 0;
  const IssueEvent& first = *sorted[0].event;
  const auto other = std::find_if(sorted.begin() + 1, sorted.end(), [&](const IncidentIssue& one) {
    return one.event->root_cause.empty() != first.root_cause.empty() ||
           IsOpen(*one.event) != IsOpen(first) ||
           !AreRivals(RootOrderOf(first), RootOrderOf(*one.event), kRivalsApart);
  });
  return static_cast<size_t>(other - sorted.begin());
}

}  // namespace pitwall
