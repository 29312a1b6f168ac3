// Issues as `issues list` and `issues watch` show them to people: a line each, symptoms with the
// name of their root cause.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/model/issue.h"
#include "services/pipeline/issue_source.h"

namespace pitwall {

// "StragglerRank{rank="2"}": without the labels that say the alert and the severity.
std::string IssueName(const IssueEvent& event);

// Names of the issues that were seen, by id: the newest `max`.
class IssueNames {
 public:
  explicit IssueNames(size_t max = 4096) : max_(max) {}
  void Learn(const IssueEvent& event);
  // The name was asked for and nobody knew it.
  void LearnUnknown(std::string_view id) { Keep(std::string(id), ""); }
  bool Knows(std::string_view id) const { return names_.contains(id); }
  // "issue 1a2b3c4d5e6f" when it is not known.
  std::string Name(std::string_view id) const;

 private:
  void Keep(std::string id, std::string name);

  const size_t max_;
  std::map<std::string, std::string, std::less<>> names_;
  std::deque<std::string> order_;
};

// Without a line break.
std::string IssueLine(const IssueEvent& event, const IssueNames& names);

// The issues of one incident: how many, and the root cause that explains most of them; of equals
// the one that began first, where that is known.
std::string IncidentLine(const std::vector<IssueEventPtr>& issues, const IssueNames& names);

}  // namespace pitwall
