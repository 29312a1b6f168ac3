// Roots of an incident, for notifications and lists.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "services/model/issues/issue.h"

namespace pitwall {

// Issue with its newest event. Borrowed.
struct IncidentIssue {
  std::string_view id;
  const IssueEvent* event = nullptr;
};

// Returns 0 for critical, 1 for warning, 2 for info, and 3 for any other severity.
int SeverityRank(std::string_view severity);

// Returns true if the first issue is more likely to be the root. The criteria, in this order:
// without a cause, open, RootOrder, `notified_root`, ID. The number of explained issues has no
// influence.
bool IsLikelierRoot(const IncidentIssue& a, const IncidentIssue& b, std::string_view notified_root);

// Sorts the issues, with the most likely root first.
void SortByRoot(std::vector<IncidentIssue>* issues, std::string_view notified_root = {});

// Returns the number of equally likely roots at the start of sorted issues ("A or B"). At least 1
// unless `sorted` is empty.
size_t LikelyRoots(std::span<const IncidentIssue> sorted);

}  // namespace pitwall
