// Text for `issues list` and `issues watch`, with one line per issue. If the issue is a symptom,
// the line includes the root cause.
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

// Returns the alert and its labels, for example "StragglerRank{rank="2"}". Omits the labels
// `alertname` and `severity`.
std::string IssueName(const IssueEvent& event);

// Names of the newest `max` issues, keyed by ID.
class IssueNames {
 public:
  explicit IssueNames(size_t max = 4096) : max_(max) {}
  void Learn(const IssueEvent& event);
  // Records that an issue's name could not be found.
  void LearnUnknown(std::string_view id) { Keep(std::string(id), ""); }
  bool Knows(std::string_view id) const { return names_.contains(id); }
  // Returns the name of an issue, or "issue 1a2b3c4d5e6f" if the name is unknown.
  std::string Name(std::string_view id) const;

 private:
  void Keep(std::string id, std::string name);

  const size_t max_;
  std::map<std::string, std::string, std::less<>> names_;
  std::deque<std::string> order_;
};

// Formats a time as "2026-01-01T00:00:00.000Z", or "-" for 0.
std::string TimeText(int64_t ns);
// Formats a duration, for example "3m12s" or "1.5s". Durations of at least one minute are truncated
// to seconds.
std::string LastedText(int64_t ns);
// Returns the end reason as text, for example "cleared" or "ended: died". Only a recovered issue
// counts as cleared.
std::string EndText(const IssueEvent& event);
// Describes a lost rank, for example "rank 2 on n1 was killed by signal 9".
std::string LostRankText(const LostRank& lost);

// Returns the issue as one line without a line break.
std::string IssueLine(const IssueEvent& event, const IssueNames& names);

// Describes an incident in one sentence: start, job, number of issues, and root cause. A root is an
// issue that explains other issues but does not have a cause itself. Equally likely roots are
// listed as "A or B".
std::string IncidentLine(const std::vector<IssueEventPtr>& issues, const IssueNames& names);

}  // namespace pitwall
