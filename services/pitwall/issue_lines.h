// Issues as `issues list` and `issues watch` show them to people: a line each, symptoms with the
// name of their root cause.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/io/issue_source.h"
#include "services/model/issues/issue.h"

namespace pitwall {

// "StragglerRank{rank="2"}": without the labels that say the alert and the severity.
std::string IssueName(const IssueEvent& event);

// Names of the issues that were seen, by id: the newest `max`.
class IssueNames {
 public:
  explicit IssueNames(size_t max = 4096) : max_(max) {}
  void Learn(const IssueEvent& event);
  // The name was asked for and nobody knew it.
  void LearnUnknown(std::string_view id) { HistoryService(std::string(id), ""); }
  bool Knows(std::string_view id) const { return names_.contains(id); }
  // "issue 1a2b3c4d5e6f" when it is not known.
  std::string Name(std::string_view id) const;

 private:
  void HistoryService(std::string id, std::string name);

  const size_t max_;
  std::map<std::string, std::string, std::less<>> names_;
  std::deque<std::string> order_;
};

// "2026-01-01T00:00:00.000Z"; "-" for 0.
std::string TimeText(int64_t ns);
// "3m12s", "1.5s": of what lasted, to the second from a minute on.
std::string LastedText(int64_t ns);
// "cleared", "ended: died": an end that is no recovery never reads as one.
std::string EndText(const IssueEvent& event);
// "rank 2 on n1 was killed by signal 9".
std::string LostRankText(const LostRank& lost);

// Without a line break.
std::string IssueLine(const IssueEvent& event, const IssueNames& names);

// The issues of one incident as a sentence: since when, where, how many, and its root cause. A root
// is an issue without a cause that explains others; "A or B" where several are left.
std::string IncidentLine(const std::vector<IssueEventPtr>& issues, const IssueNames& names);

}  // namespace pitwall
