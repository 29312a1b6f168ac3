// Issues of an incident that are shown as its root, the same in notifications and lists.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "services/model/issues/issue.h"

namespace pitwall {

// An issue by its newest event. Borrowed.
struct IncidentIssue {
  std::string_view id;
  const IssueEvent* event = nullptr;
};

// 0 critical, 1 warning, 2 info, 3 any other: the least is the worst.
int SeverityRank(std::string_view severity);

// Whether nothing explains the one and something the other, else whether it is open and the other
// is not, else by RootOrder; of equals `told_root` comes first, then the order of ids. Never by how
// many it explains.
bool IsLikelierRoot(const IncidentIssue& a, const IncidentIssue& b, std::string_view told_root);

// The likeliest root first.
void SortByRoot(std::vector<IncidentIssue>* issues, std::string_view told_root = {});

// How many of the first ones (of issues so sorted) are equally likely roots: "A or B". At least 1,
// unless there are none.
size_t LikelyRoots(std::span<const IncidentIssue> sorted);

}  // namespace pitwall
