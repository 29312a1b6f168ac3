// Schedule for one domain: the next tick of each rule group and subquery. Skips ticks that cannot
// change a verdict. Private to the engine.
#pragma once

#include <cstddef>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/ticks/domain_inputs.h"
#include "services/engine/ticks/group_schedule.h"

namespace pitwall::engine {

// Positions are on the domain's clock. Independent of the system clock. Not thread-safe.
class TickScheduler {
 public:
  // Borrows `inputs`. No tick is due before SetOrigin is called.
  explicit TickScheduler(DomainInputs* inputs);

  // Schedules the first multiple of each interval at or after `origin` and after `not_before`.
  // Windows with align_job are aligned with the origin.
  void SetOrigin(Position origin, Position not_before = Position::Earliest());
  // Schedules each group on a step clock, starting at `position`. Used initially and after Restart.
  // Has no effect if the groups are already scheduled.
  void StartAt(Position position);
  // Clears the schedule. Must be called when the windows restart empty. No tick is due until
  // StartAt is called.
  void Restart();
  // Returns the start position for the next program's groups after a reload at `position`.
  ReloadStart StartOfReload(Position position) const;
  // Must be called after the inputs' program changes. `start` is the result of StartOfReload.
  void Replace(const ReloadStart& start);

  // Returns the next position where a group or subquery is due, or Position::Latest().
  Position NextTick() const;
  // Advances each group to its last tick at or before `position`.
  void SkipTo(Position position);
  // On a step clock, skips ticks before the next row, up to `to`, that cannot change a verdict
  // because the last row is older than quiet_horizon(). After 4,096 steps without a row, the tick
  // spacing is 1/64 of the distance from the last row, so an issue may end that much later. If a
  // rank jumps ahead by millions of steps, this avoids millions of evaluations.
  void SkipQuiet(Position to);
  // Time without samples after which every verdict has settled.
  Duration quiet_horizon() const { return quiet_horizon_; }

  // Starts a tick. Must be called before DomainInputs::BeginTick.
  void BeginTick(Position position);
  // Returns whether the group is due at the position, and schedules its next tick.
  bool TakeTick(size_t group, Position position) { return groups_.TakeTick(group, position); }
  // The most recently started tick; Position::Earliest() before the first tick.
  Position last_tick() const { return last_tick_; }
  // Returns whether a group with this interval was due at the last tick.
  bool WasDue(Duration interval, bool align_job) const;

  // On a step clock, the position up to which all steps have been evaluated. Position::Earliest()
  // before the first tick.
  Position watermark() const { return watermark_; }
  void SetWatermark(Position position) { watermark_ = position; }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  void SaveGroup(size_t group, BinaryWriter& out) const { groups_.SaveNext(group, out); }
  void RestoreGroup(size_t group, BinaryReader& in) { groups_.RestoreNext(group, in); }

 private:
  void ScheduleAfter(Position position);

  DomainInputs* const inputs_;
  GroupSchedule groups_;
  Duration quiet_horizon_;
  Position origin_ = Position::Earliest();
  bool scheduled_ = false;
  Position last_tick_ = Position::Earliest();
  Position watermark_ = Position::Earliest();
  Position last_row_ = Position::Earliest();  // Last tick at which a row was sealed.
};

}  // namespace pitwall::engine
