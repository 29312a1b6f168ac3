// Transitions in the life cycle of an alert, or of an issue that several alerts form.
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
  kPending,  // started, waits for `for`
  kDropped,  // was pending and disappeared
  kFound,
  kUpdated,
  kResolved,
};
std::string_view TransitionKindName(TransitionKind kind);

// Maximum number of elements that a folded issue names.
inline constexpr size_t kMaxFoldedNames = 10;

struct FoldedElement {
  Labels labels;  // folded labels
  double value = 0;
};

// Summary of an issue from a rule with `fold`.
struct FoldSummary {
  std::vector<FoldedElement> named;  // first elements, with their first values
  FoldedElement worst;               // since the issue started
  uint64_t count = 0;                // maximum at one time; 0 if the rule does not fold
};

struct Transition {
  TransitionKind kind = TransitionKind::kPending;
  EvalTime at;     // time of the transition
  Labels labels;   // of the alert
  Labels element;  // of the alert's element in expr
  double value = 0;
  EvalTime active;                          // when it became pending; the attempt is the issue's
  EvalTime started;                         // when it fired; all zero before
  EvalTime last_seen;                       // last tick at which expr had it
  EndReason end_reason = EndReason::kNone;  // for kResolved only
  uint64_t sequence = 0;                    // 1 for kFound; 0 for kPending and kDropped
  std::vector<std::pair<std::string, std::string>>
      annotations;  // from kFound on, in the order of the rule
  std::string root_cause;
  FoldSummary folded;
  // Returns the annotation named `name`, or "".
  std::string_view Annotation(std::string_view name) const;
};

}  // namespace pitwall::alert
