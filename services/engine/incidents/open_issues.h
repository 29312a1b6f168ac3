// Index of a job's open issues by alert and onset.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "services/base/time.h"
#include "services/engine/incidents/issue_causes.h"

namespace pitwall::engine {

// Issues are borrowed: they must be removed before they are destroyed, and their alert and onset
// must not change. Not thread-safe.
class OpenIssues {
 public:
  struct ByOnset {
    bool operator()(const TrackedIssue* a, const TrackedIssue* b) const { return Precedes(*a, *b); }
  };
  using Ordered = std::set<const TrackedIssue*, ByOnset>;

  // Onsets within `window` are close. `causes` is borrowed.
  OpenIssues(Duration window, const IssueCauses* causes) : window_(window), causes_(causes) {}

  void Add(const TrackedIssue* issue) { by_alert_[issue->alert].insert(issue); }
  void Remove(const TrackedIssue* issue);
  void Clear() { by_alert_.clear(); }
  // Null if no issue is open.
  const Ordered* OfAlert(std::string_view alert) const;

  // Returns the open issue of the same alert with the closest onset within the window. If there is
  // no such issue and the given issue is job-wide, returns the first job-wide issue with a close
  // onset that the same cause could explain. Returns null if neither exists.
  const TrackedIssue* Sibling(const TrackedIssue& issue) const;
  // Returns the first symptom of `issue` without a known cause, or null. Skips symptoms of other
  // problems: those that other ranks or nodes had before `issue` began, unless `issue` explains the
  // earlier occurrences too.
  const TrackedIssue* OwnSymptom(const TrackedIssue& issue) const;

 private:
  // Returns the issue with the onset closest to `onset` within the window, or null. Of two equally
  // close issues, returns the earlier one.
  const TrackedIssue* Closest(const Ordered& issues, EventTime onset) const;

  const Duration window_;
  const IssueCauses* const causes_;
  std::map<std::string, Ordered, std::less<>> by_alert_;
};

}  // namespace pitwall::engine
