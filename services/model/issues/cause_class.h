// Rank of a kind of issue as a cause, by which the root of an incident is chosen: a death
// or a hardware fault before a hang, a named rank or node before what the whole job suffers
// (docs/decisions/0028-relate-issues-by-typed-causes.md). Functions of an issue's labels alone, so
// that engine, notifier and command line agree.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "services/model/issues/issue.h"
#include "services/model/labels.h"

namespace pitwall {

// The smaller, the stronger.
enum class CauseClass : uint8_t {
  kHardEvent,  // a death, a hardware fault, a NaN: critical issues of the categories that say so
  kHang,       // category hang
  kNamed,      // any other that names a rank or a node
  kJobWide,    // what the job as a whole suffers
};

CauseClass CauseClassOf(const Labels& labels);

// Domain of an alert's `category`, for relations that cannot be: see MayExplain. kOther: a category
// of the user's own, or none.
enum class CauseDomain : uint8_t { kMachine, kProcess, kNumerics, kPerformance, kOther };

CauseDomain CauseDomainOf(std::string_view category);

// Whether an issue of category `cause` can explain one of category `symptom`: performance explains
// neither hardware, nor deaths, nor numerics; numerics explain neither hardware nor deaths; a death
// or a hang explains no numerics and no hardware fault.
bool MayExplain(std::string_view cause, std::string_view symptom);

// Order of root causes, the strongest first: class, severity, onset (Unix ns), rule, labels.
struct RootOrder {
  CauseClass cause_class = CauseClass::kJobWide;
  int severity = 0;  // 0 critical, 1 warning, 2 info, 3 any other
  int64_t onset_ns = 0;

  friend auto operator<=>(const RootOrder&, const RootOrder&) = default;
};
RootOrder RootOrderOf(const Labels& labels, int64_t onset_ns);
// Of an issue's event.
RootOrder RootOrderOf(const IssueEvent& event);

// Whether the two are equally likely roots: class and severity are equal, and the onsets differ by
// at most `apart_ns`. People are then told "A or B".
bool AreRivals(const RootOrder& a, const RootOrder& b, int64_t apart_ns);

}  // namespace pitwall
