// Due steps for the subqueries in one domain. Private to the engine.
#pragma once

#include <cstddef>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/time.h"

namespace pitwall::engine {

// Positions are on the domain's clock. Not thread-safe.
class SubquerySchedule {
 public:
  // No step is due before Start is called.
  explicit SubquerySchedule(const plan::DomainPlan& domain);

  // Schedules steps after `position`. A subquery that has results even without samples starts
  // earlier: as far back as windows reach, but after `not_before`.
  void Start(Position position, Position not_before);
  // Schedules the steps of one subquery after `position`.
  void StartOne(size_t subquery, Position position);
  // Copies the schedule of another subquery.
  void Inherit(size_t subquery, const SubquerySchedule& from, size_t other);
  // Clears the schedule. No step is due before Start is called.
  void Reset();

  // Returns the next step of any subquery, or Position::Latest().
  Position NextTick() const;
  // Skips steps whose results are outside every window that ends at or after `position`.
  void SkipTo(Position position);
  bool IsDue(size_t subquery, Position tick) const { return entries_[subquery].next == tick; }
  // Must be called after the due step has been evaluated.
  void Advance(size_t subquery) { entries_[subquery].next += entries_[subquery].step; }

  void SaveNext(size_t subquery, BinaryWriter& out) const { out.I64(entries_[subquery].next.ns()); }
  void RestoreNext(size_t subquery, BinaryReader& in) {
    entries_[subquery].next = Position::FromNs(in.I64());
  }

 private:
  struct Entry {
    Duration step;
    bool from_nothing = false;  // has results even without samples
    Duration reach;             // maximum age of a result read at a tick
    Position next = Position::Latest();
  };

  std::vector<Entry> entries_;
};

}  // namespace pitwall::engine
