// The minimum history that a rule asks for: until it has it, its status is InProgress and not "no
// issues found". Private to the engine.
//
// Nothing has to be written for it but the condition itself, as rules have it anyway:
//
//   … and count_over_time(x[attempt]) > $patience              so many samples (or steps)
//   … and on () time() - min(ts_of_first_over_time(x[attempt])) > $grace_seconds      such an age
//   … and on () min((ts_of_last_over_time(x[9 samples]) - ts_of_first_over_time(x[9 samples]))
//       / (count_over_time(x[9 samples]) - 1)) < 1.5                           such near samples
//
// on either side of an `and`, also below functions, aggregations and arithmetic; of an `or` both
// sides must wait, of an `unless` the left one. The comparison that the rule is about is no such
// condition: of each side of an `or`, and below aggregations and functions, the leftmost one that
// no `and` or `unless` is before. Conditions inside of subqueries are not seen.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/program/program.h"
#include "services/base/binary.h"

namespace pitwall::engine {

struct HistoryGate {
  enum class For : uint8_t {
    kNothing,
    kSamples,  // the series that has most has `has` of `wants`
    kAge,      // the oldest reaches it at the position `until`
    kTick,     // the attempt has just begun: nothing was judged so far
    kNearer,   // samples are `has` steps (seconds) apart, and may be less than `wants`
  } what = For::kNothing;
  double has = 0;
  double wants = 0;
  int64_t until = 0;

  bool waits() const { return what != For::kNothing; }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
};

// The conditions of one rule. Immutable; borrows nothing.
class History {
 public:
  History(const plan::DomainPlan& domain, const plan::Rule& rule);

  // What the rule waits for at the evaluator's tick, `position`: of several conditions the one that
  // misses most, what never comes by waiting (nearer samples) first, samples before ages. A
  // condition without any input waits for nothing: that is for the rule's needs to say. Evaluates
  // nothing that the rule's expression did not.
  HistoryGate At(eval::Evaluator* evaluator, int64_t position) const;
  // Whether a new attempt has to wait again.
  bool begins_with_attempt() const { return begins_with_attempt_; }

 private:
  // A comparison, or several of which any one or all must wait.
  struct Condition {
    enum class Kind { kSamples, kAge, kNearer, kAny, kAll } kind = Kind::kAny;
    plan::NodeId value = plan::kNoNode;  // what is compared
    plan::NodeId limit = plan::kNoNode;  // with which scalar
    bool or_equal = false;
    std::vector<uint32_t> parts;
  };

  // Index of the condition of this expression, or kNone. `finding`: it is what the rule is about.
  uint32_t Find(const plan::DomainPlan& domain, plan::NodeId id, bool finding);
  uint32_t Add(Condition condition);
  HistoryGate Judge(uint32_t condition, eval::Evaluator* evaluator, int64_t position) const;

  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<Condition> conditions_;
  uint32_t root_ = kNone;
  bool begins_with_attempt_ = false;
};

}  // namespace pitwall::engine
