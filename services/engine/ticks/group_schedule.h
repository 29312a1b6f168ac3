// Due ticks for the rule groups in one domain. Private to the engine.
#pragma once

#include <cstddef>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/time.h"

namespace pitwall::engine {

// Positions are on the domain's clock. Not thread-safe.
class GroupSchedule {
 public:
  // No tick is due before StartAfter is called.
  explicit GroupSchedule(const plan::DomainPlan& domain);

  // Schedules the first multiple of each interval after `position`. Groups with align_job count
  // from `origin`.
  void StartAfter(Position position, Position origin);
  // Clears the schedule. No tick is due before StartAfter is called.
  void Reset();

  // Returns the next tick of any group, or Position::Latest().
  Position NextTick() const;
  // Advances each group to its last tick at or before `position`.
  void SkipTo(Position position, Position origin);
  // Returns whether the group is due at the position, and schedules its next tick.
  bool TakeTick(size_t group, Position position);

  void SaveNext(size_t group, BinaryWriter& out) const { out.I64(entries_[group].next.ns()); }
  void RestoreNext(size_t group, BinaryReader& in) {
    entries_[group].next = Position::FromNs(in.I64());
  }

 private:
  struct Entry {
    Duration interval;
    bool align_job = false;
    Position next = Position::Latest();
  };

  std::vector<Entry> entries_;
};

}  // namespace pitwall::engine
