// Loss of one domain's history (time-model.md, section 6). Rules have status Error until their
// windows are full again. Private to the engine.
#pragma once

#include <cstdint>

#include "services/base/binary.h"
#include "services/base/time.h"

namespace pitwall::engine {

// Positions are on the domain's clock. Not thread-safe.
class HistoryLoss {
 public:
  // Part of the history that one rule reads.
  struct Reach {
    Duration length;            // length of the rule's windows, up to the tick
    bool from_attempt = false;  // some window starts at the start of the attempt
  };

  // Marks all samples before the next tick as lost.
  void Lose();
  // Starts a new attempt. All of its samples are known.
  void BeginAttempt() { attempt_lost_ = false; }
  // Must be called when the windows restart empty, because their contents are then complete.
  void Clear() { lost_ = attempt_lost_ = false; }
  // Starts a tick. The first tick after the loss is the first known position.
  void BeginTick(Position position);
  // Must be called when no rule is affected by the loss.
  void Recover() { lost_ = false; }

  // Returns whether any rule may be affected.
  bool lost() const { return lost_; }
  // Returns whether the loss prevents the evaluation of a rule with that reach at the position.
  bool Affects(const Reach& reach, Position position) const;

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  bool lost_ = false;
  bool attempt_lost_ = false;  // The samples since the start of the attempt are incomplete.
  Position from_ = Position::Earliest();  // First tick since the loss; Earliest() before that tick.
};

}  // namespace pitwall::engine
