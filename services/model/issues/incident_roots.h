// Roots of an incident for notifications and lists.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "services/model/issues/issue.h"

namespace pitwall {

// An issue as of its newest event. Borrowed.
struct IncidentIssue {
  std::string_view id;
  const IssueEvent* event = nullptr;
};

// Returns 0 for critical, 1 for warning, 2 for info, and 3 for any other severity.
int SeverityRank(std::string_view severity);

// Compares two issues as roots: an issue without a cause comes first, then an open one, then
// RootOrder, then `notified_root`, then the order of IDs. The number of explained issues has no
// influence.
bool IsLikelierRoot(const IncidentIssue& a, const IncidentIssue& b, std::string_view notified_root);

// Sorts the likeliest root first.
void SortByRoot(std::vector<IncidentIssue>* issues, std::string_view notified_root = {});

// Returns the number of equally likely roots at the beginning of sorted issues ("A or B"). At least
// 1, unless `sorted` is empty.
size_t LikelyRoots(std::span<const IncidentIssue> sorted);

}  // namespace pitwall
