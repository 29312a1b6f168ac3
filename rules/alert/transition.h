// Transitions in the life of an alert, or of an issue that several alerts form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model/eval_time.h"
#include "services/model/issues/issue.h"
#include "services/model/labels.h"

namespace pitwall::alert {

enum class TransitionKind {
  kPending,  // began, waits for `for`
  kDropped,  // was pending and went
  kFound,
  kUpdated,
  kResolved,
};
std::string_view TransitionKindName(TransitionKind kind);

// At most so many elements of a folded issue are named.
inline constexpr size_t kMaxFoldedNames = 10;

struct FoldedElement {
  Labels labels;  // the folded ones
  double value = 0;
};

// Of an issue of a rule with `fold`.
struct FoldSummary {
  std::vector<FoldedElement> named;  // those that came first, with their first values
  FoldedElement worst;               // since the issue began
  uint64_t count = 0;                // the most at one time; 0: the rule does not fold
};

struct Transition {
  TransitionKind kind = TransitionKind::kPending;
  EvalTime at;     // when it happened
  Labels labels;   // of the alert
  Labels element;  // of the element of expr that it comes from
  double value = 0;
  EvalTime active;                          // when it became pending; its attempt is the issue's
  EvalTime started;                         // when it fired; all zero before
  EvalTime last_seen;                       // the last tick at which expr had it
  EndReason end_reason = EndReason::kNone;  // kResolved only
  uint64_t sequence = 0;                    // 1 for kFound; 0 for kPending and kDropped
  std::vector<std::pair<std::string, std::string>>
      annotations;  // from kFound on, in the order of the rule
  std::string root_cause;
  FoldSummary folded;
  // The annotation of that name, "" when there is none.
  std::string_view Annotation(std::string_view name) const;
};

}  // namespace pitwall::alert
