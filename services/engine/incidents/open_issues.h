// Open issues of a job, by alert and in the order of their onsets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "services/engine/incidents/issue_causes.h"

namespace pitwall::engine {

// Issues are borrowed: they must be removed before they go, and keep alert and onset. Not
// thread-safe.
class OpenIssues {
 public:
  struct ByOnset {
    bool operator()(const TrackedIssue* a, const TrackedIssue* b) const { return Precedes(*a, *b); }
  };
  using Ordered = std::set<const TrackedIssue*, ByOnset>;

  // Onsets within `window_ns` are close. `causes` is borrowed.
  OpenIssues(int64_t window_ns, const IssueCauses* causes)
      : window_ns_(window_ns), causes_(causes) {}

  void Add(const TrackedIssue* issue) { by_alert_[issue->alert].insert(issue); }
  void Remove(const TrackedIssue* issue);
  void Clear() { by_alert_.clear(); }
  // Null if no issue is open.
  const Ordered* OfAlert(std::string_view alert) const;

  // The open issue of the same alert with the closest onset; else, of issues that concern the whole
  // job, the first with a close onset that the same cause could explain. Null: none.
  const TrackedIssue* Sibling(const TrackedIssue& issue) const;
  // The first symptom that nothing explains, and that others did not have before `issue` began
  // where it does not explain these: they belong to another trouble. Null: none.
  const TrackedIssue* OwnSymptom(const TrackedIssue& issue) const;

 private:
  // The one whose onset is closest to `onset_ns` and within the window; of two, the earlier. Null:
  // none.
  const TrackedIssue* Closest(const Ordered& issues, int64_t onset_ns) const;

  const int64_t window_ns_;
  const IssueCauses* const causes_;
  std::map<std::string, Ordered, std::less<>> by_alert_;
};

}  // namespace pitwall::engine
