// Schedule of one domain: the next tick of each group of rules, and of the subqueries. Skips ticks
// at which no verdict can change. Private to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/engine/ticks/domain_inputs.h"
#include "services/model/position.h"

namespace pitwall::engine {

// Positions on the clock of the domain. Reads no clock. Not thread-safe.
class TickScheduler {
 public:
  // Borrows `inputs`. Nothing is due before SetOrigin.
  explicit TickScheduler(DomainInputs* inputs);

  // Schedules the first multiple of each interval at or after `origin` and after `not_before`. The
  // inputs align windows to the origin.
  void SetOrigin(int64_t origin, int64_t not_before = kMinPosition);
  // Step clock, at the start and after Restart: schedules each group from `position` on. Ignored if
  // the groups are scheduled.
  void StartAt(int64_t position);
  // The windows restart empty: nothing is due before StartAt.
  void Restart();
  // A reload at `position`: returns the position after which groups of another program are due;
  // kMinPosition if nothing is scheduled.
  int64_t ReloadPosition(int64_t position) const;
  // The inputs have another program. `after` is the result of ReloadPosition.
  void Replace(int64_t after);

  // The next position at which a group or a subquery is due; kMaxPosition without any.
  int64_t NextTick() const;
  // Skips all ticks before the last one of each group at or before `position`.
  void SkipTo(int64_t position);
  // Step clock: skips ticks before the next row, up to `to`, that cannot change a verdict, because
  // the last row is older than quiet_horizon(). From 4,096 steps without a row on, the distance of
  // two ticks is 1/64 of the steps without a row: an issue may end that much later. A rank whose
  // steps jump by millions must not cost millions of evaluations.
  void SkipQuiet(int64_t to);
  // After this time without a sample, every verdict has settled.
  int64_t quiet_horizon() const { return quiet_horizon_; }

  // Begins a tick, before the inputs do.
  void BeginTick(int64_t position);
  // Returns whether the group is due at the position, and schedules its next tick.
  bool TakeTick(size_t group, int64_t position);
  // The last tick that began; kMinPosition before the first.
  int64_t last_tick() const { return last_tick_; }
  // Returns whether a group of this interval was due at the last tick.
  bool WasDue(int64_t interval, bool align_job) const;

  // The saved layout has the watermark of the domain among the positions.
  void Save(int64_t watermark, BinaryWriter& out) const;
  void Restore(int64_t* watermark, BinaryReader& in);
  void SaveGroup(size_t group, BinaryWriter& out) const { out.I64(groups_[group].next); }
  void RestoreGroup(size_t group, BinaryReader& in) { groups_[group].next = in.I64(); }

 private:
  struct Group {
    int64_t interval;
    bool align_job;  // ticks count from the origin
    int64_t next = kMaxPosition;
  };

  void ListGroups();
  void ScheduleAfter(int64_t position);
  // The first position of a row that no tick has sealed; kMaxPosition without any.
  int64_t NextRow() const { return inputs_->store()->OldestOpen().value_or(kMaxPosition); }
  int64_t OriginOf(bool align_job) const { return align_job ? origin_ : 0; }

  DomainInputs* const inputs_;
  std::vector<Group> groups_;
  int64_t quiet_horizon_ = 0;
  int64_t origin_ = kMinPosition;
  bool scheduled_ = false;
  int64_t last_tick_ = kMinPosition;
  int64_t last_row_ = kMinPosition;  // last tick that sealed a row
};

}  // namespace pitwall::engine
