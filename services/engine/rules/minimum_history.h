// Minimum history that a rule requires. Until the history is available, the rule's status is
// InProgress instead of NoIssuesFound. Private to the engine.
//
// The requirement is derived from conditions in the rule itself:
//
//   … and count_over_time(x[attempt]) > $patience              minimum number of samples (steps)
//   … and on () time() - min(ts_of_first_over_time(x[attempt])) > $grace_seconds      minimum age
//   … and on () min((ts_of_last_over_time(x[9 samples]) - ts_of_first_over_time(x[9 samples]))
//       / (count_over_time(x[9 samples]) - 1)) < 1.5             maximum distance between samples
//
// The conditions may be on either side of an `and`, including inside functions, aggregations, and
// arithmetic. For an `or`, both sides must be waiting; for an `unless`, the left side must be. The
// comparison that is the subject of the rule does not count. On each side of an `or`, and inside
// aggregations and functions, the subject is the leftmost comparison without a preceding `and` or
// `unless`. Conditions inside subqueries are ignored.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/time.h"

namespace pitwall::engine {

struct HistoryGate {
  enum class For : uint8_t {
    kNothing,
    kSamples,  // the series with the most samples has `has` of `wants` samples
    kAge,      // the oldest series reaches the required age at `until`
    kTick,     // the attempt has just started and has no evaluation yet
    kNearer,   // samples are `has` steps (seconds) apart and must be less than `wants` apart
  } what = For::kNothing;
  double has = 0;
  double wants = 0;
  Position until;

  bool waits() const { return what != For::kNothing; }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
};

// Minimum-history conditions of one rule. Immutable; does not hold references.
class History {
 public:
  History(const plan::DomainPlan& domain, const plan::Rule& rule);

  // Returns the condition that the rule waits for at the evaluator's tick, `position`. Of several
  // conditions, returns the one with the most missing samples or time. Sample distances come first,
  // because waiting does not help, and sample counts come before ages. A condition without input
  // does not wait, because the rule's needs report missing input. Evaluates only nodes of the
  // rule's expression.
  HistoryGate At(eval::Evaluator* evaluator, Position position) const;
  // Returns whether each new attempt must wait again.
  bool begins_with_attempt() const { return begins_with_attempt_; }

 private:
  // A comparison, or a combination that waits if any or all of its parts wait.
  struct Condition {
    enum class Kind { kSamples, kAge, kNearer, kAny, kAll } kind = Kind::kAny;
    plan::NodeId value = plan::kNoNode;  // compared value
    plan::NodeId limit = plan::kNoNode;  // scalar limit of the comparison
    bool or_equal = false;
    std::vector<uint32_t> parts;
  };

  // Returns the index of the expression's condition, or kNone. `finding` means that the expression
  // is the subject of the rule.
  uint32_t Find(const plan::DomainPlan& domain, plan::NodeId id, bool finding);
  uint32_t Add(Condition condition);
  HistoryGate Judge(uint32_t condition, eval::Evaluator* evaluator, Position position) const;

  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<Condition> conditions_;
  uint32_t root_ = kNone;
  bool begins_with_attempt_ = false;
};

}  // namespace pitwall::engine
