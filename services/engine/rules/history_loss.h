// Loss of the history of one domain (time-model.md, section 6): its rules are in Error until their
// windows are full again. Private to the engine.
#pragma once

#include <cstdint>

#include "services/base/binary.h"
#include "services/model/position.h"

namespace pitwall::engine {

// Positions on the clock of the domain. Not thread-safe.
class HistoryLoss {
 public:
  // Part of the history that a rule reads.
  struct Reach {
    int64_t length = 0;         // of its windows, up to the tick
    bool from_attempt = false;  // some window begins with the attempt
  };

  // All samples before the next tick are lost.
  void Lose();
  // A new attempt begins, all samples of which are known.
  void BeginAttempt() { attempt_lost_ = false; }
  // The windows restart empty: nothing that they hold is lost.
  void Clear() { lost_ = attempt_lost_ = false; }
  // The first tick after the loss is the first known position.
  void BeginTick(int64_t position);
  // No rule is affected any more.
  void Recover() { lost_ = false; }

  // Some rule may be affected.
  bool lost() const { return lost_; }
  // Returns whether a rule that reads `reach` cannot be evaluated at the position.
  bool Affects(const Reach& reach, int64_t position) const;

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  bool lost_ = false;
  bool attempt_lost_ = false;    // the beginning of the attempt is lost
  int64_t from_ = kMinPosition;  // first tick since the loss; kMinPosition before it
};

}  // namespace pitwall::engine
