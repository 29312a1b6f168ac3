// Rank of an issue as a possible cause, used to select the root of an incident. Deaths and hardware
// faults come before hangs, and issues of a rank or node come before issues of the whole job
// (docs/decisions/0028-relate-issues-by-typed-causes.md). The rank depends only on an issue's
// labels, so the engine, the notifier, and the command line agree.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "services/base/time.h"
#include "services/model/issues/issue.h"
#include "services/model/labels.h"

namespace pitwall {

// Smaller values are stronger causes.
enum class CauseClass : uint8_t {
  kHardEvent,  // death, hardware fault, or NaN: critical issues of these categories
  kHang,       // issue of category hang
  kNamed,      // any other issue of a rank or node
  kJobWide,    // an issue of the whole job
};

CauseClass CauseClassOf(const Labels& labels);

// Domain of an alert's `category`. It rules out some relations between issues; see MayExplain.
// kOther: a user-defined category or none.
enum class CauseDomain : uint8_t { kMachine, kProcess, kNumerics, kPerformance, kOther };

CauseDomain CauseDomainOf(std::string_view category);

// Returns true if an issue of category `cause` can explain an issue of category `symptom`.
// Performance issues do not explain hardware faults, deaths, or numerical problems. Numerical
// problems do not explain hardware faults or deaths. Deaths and hangs do not explain numerical
// problems or hardware faults.
bool MayExplain(std::string_view cause, std::string_view symptom);

// Order of root causes, strongest first: class, severity, onset, rule, labels.
struct RootOrder {
  CauseClass cause_class = CauseClass::kJobWide;
  int severity = 0;  // 0: critical, 1: warning, 2: info, 3: other
  EventTime onset;

  friend auto operator<=>(const RootOrder&, const RootOrder&) = default;
};
RootOrder RootOrderOf(const Labels& labels, EventTime onset);
// Returns an issue's order, based on its event.
RootOrder RootOrderOf(const IssueEvent& event);

// Returns true if the two issues are equally likely roots: class and severity are equal, and the
// onsets differ by at most `apart`. Texts then list both, as "A or B".
bool AreRivals(const RootOrder& a, const RootOrder& b, Duration apart);

}  // namespace pitwall
