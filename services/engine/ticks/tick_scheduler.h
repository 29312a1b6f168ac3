// Schedule of one domain: the next tick of each rule group and subquery. Skips ticks at which no
// verdict can change. Private to the engine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/engine/ticks/domain_inputs.h"
#include "services/engine/ticks/group_schedule.h"
#include "services/model/position.h"

namespace pitwall::engine {

// Positions are on the domain's clock. Independent of the system clock. Not thread-safe.
class TickScheduler {
 public:
  // Borrows `inputs`. No tick is due before SetOrigin.
  explicit TickScheduler(DomainInputs* inputs);

  // Schedules the first multiple of each interval at or after `origin` and after `not_before`.
  // Windows of the inputs are aligned with the origin.
  void SetOrigin(int64_t origin, int64_t not_before = kMinPosition);
  // Schedules each group of a step clock from `position` on, initially and after Restart. Has no
  // effect if the groups are already scheduled.
  void StartAt(int64_t position);
  // Clears the schedule when the windows restart empty. No tick is due until StartAt is called.
  void Restart();
  // Returns the start of the next program's groups after a reload at `position`.
  ReloadStart StartOfReload(int64_t position) const;
  // Must be called when the inputs have another program. `start` is the result of StartOfReload.
  void Replace(const ReloadStart& start);

  // Returns the next position at which a group or a subquery is due, or kMaxPosition.
  int64_t NextTick() const;
  // Skips all ticks before the last one of each group at or before `position`.
  void SkipTo(int64_t position);
  // On a step clock, skips ticks before the next row, up to `to`, that cannot change a verdict
  // because the last row is older than quiet_horizon(). After 4,096 steps without a row, ticks are
  // spaced by 1/64 of the steps without a row, so an issue may end that much later. A rank whose
  // steps jump by millions must not cost millions of evaluations.
  void SkipQuiet(int64_t to);
  // Time without samples after which every verdict has settled.
  int64_t quiet_horizon() const { return quiet_horizon_; }

  // Starts a tick. Must be called before DomainInputs::BeginTick.
  void BeginTick(int64_t position);
  // Returns whether the group is due at the position, and schedules its next tick.
  bool TakeTick(size_t group, int64_t position) { return groups_.TakeTick(group, position); }
  // The last started tick; kMinPosition before the first tick.
  int64_t last_tick() const { return last_tick_; }
  // Returns whether a group with this interval was due at the last tick.
  bool WasDue(int64_t interval, bool align_job) const;

  // On a step clock, the position up to which all steps have been evaluated. kMinPosition before
  // the first tick.
  int64_t watermark() const { return watermark_; }
  void SetWatermark(int64_t position) { watermark_ = position; }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  void SaveGroup(size_t group, BinaryWriter& out) const { groups_.SaveNext(group, out); }
  void RestoreGroup(size_t group, BinaryReader& in) { groups_.RestoreNext(group, in); }

 private:
  void ScheduleAfter(int64_t position);

  DomainInputs* const inputs_;
  GroupSchedule groups_;
  int64_t quiet_horizon_;
  int64_t origin_ = kMinPosition;
  bool scheduled_ = false;
  int64_t last_tick_ = kMinPosition;
  int64_t watermark_ = kMinPosition;
  int64_t last_row_ = kMinPosition;  // Last tick at which a row was sealed.
};

}  // namespace pitwall::engine
