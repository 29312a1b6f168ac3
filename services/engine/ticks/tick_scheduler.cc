#include "services/engine/ticks/tick_scheduler.h"

#include <algorithm>

#include "services/base/clock.h"

namespace pitwall::engine {

namespace {

// Ticks after the last row that are all evaluated: more than the panes of a window that keeps its
// samples. Beyond, the distance of two ticks is this part of the time without a row, so that a
// window of 60,000 steps costs hundreds of evaluations instead of 120,000.
constexpr int64_t kDenseQuiet = 4096 * kStepUnit;
constexpr int64_t kQuietParts = 64;

int64_t QuietHorizonOf(const plan::DomainPlan& domain) {
  int64_t window = 0;
  for (const Demand& demand : domain.demands.demands)
    window = std::max({window, demand.range + demand.offset, demand.lookback});
  for (const plan::Subquery& subquery : domain.subqueries) window += subquery.reach;
  int64_t patience = 0;
  int64_t interval = 0;
  for (const plan::Group& group : domain.groups) {
    interval = std::max(interval, group.interval);
    for (const plan::Rule& rule : group.rules)
      patience = std::max(patience, rule.hold + rule.keep_firing + rule.unsteady_ns);
  }
  // Twice: a window may read a recorded series that reads a window; ten minutes more cost nothing.
  return 2 * (window + patience + interval) + 600 * kNanosPerSecond;
}

}  // namespace

TickScheduler::TickScheduler(DomainInputs* inputs) : inputs_(inputs) { ListGroups(); }

void TickScheduler::ListGroups() {
  groups_.clear();
  for (const plan::Group& group : inputs_->domain().groups)
    groups_.push_back({.interval = group.interval, .align_job = group.align_job});
  quiet_horizon_ = QuietHorizonOf(inputs_->domain());
}

void TickScheduler::SetOrigin(int64_t origin, int64_t not_before) {
  origin_ = origin;
  last_tick_ = std::max(last_tick_, not_before);
  inputs_->SetOrigin(origin);
  inputs_->subqueries().schedule().Start(std::max(origin - 1, last_tick_), last_tick_);
  ScheduleAfter(std::max(origin - 1, last_tick_));
}

void TickScheduler::StartAt(int64_t position) {
  if (scheduled_) return;
  if (origin_ == kMinPosition) return SetOrigin(position);
  inputs_->subqueries().schedule().Start(std::max(last_tick_, position - 1), last_tick_);
  last_tick_ = std::max(last_tick_, position - 1);
  ScheduleAfter(last_tick_);
}

void TickScheduler::Restart() {
  last_tick_ = kMinPosition;
  last_row_ = kMinPosition;
  scheduled_ = false;
  for (Group& group : groups_) group.next = kMaxPosition;
}

int64_t TickScheduler::ReloadPosition(int64_t position) const {
  return scheduled_ ? std::max({origin_ - 1, last_tick_, position}) : kMinPosition;
}

void TickScheduler::Replace(int64_t after) {
  ListGroups();
  // Samples before the reload that no selector wanted are missing: a group begins after it.
  if (scheduled_) ScheduleAfter(after);
}

void TickScheduler::ScheduleAfter(int64_t position) {
  for (Group& group : groups_)
    group.next = NextAfter(position, group.interval, OriginOf(group.align_job));
  scheduled_ = true;
}

int64_t TickScheduler::NextTick() const {
  int64_t next = inputs_->subqueries().schedule().NextTick();
  for (const Group& group : groups_) next = std::min(next, group.next);
  return next;
}

void TickScheduler::SkipTo(int64_t position) {
  for (Group& group : groups_) {
    group.next = std::max(group.next, FloorTo(position, group.interval, OriginOf(group.align_job)));
  }
  inputs_->subqueries().schedule().SkipTo(position);
}

void TickScheduler::SkipQuiet(int64_t to) {
  to = std::min(to, NextRow() - 1);
  const int64_t next = NextTick();
  if (last_row_ == kMinPosition) last_row_ = next;
  const int64_t quiet = next - last_row_;
  if (quiet > quiet_horizon_ && to - next > quiet_horizon_) {
    SkipTo(to);
  } else if (quiet > kDenseQuiet) {
    SkipTo(std::min(to, next + quiet / kQuietParts));
  }
}

void TickScheduler::BeginTick(int64_t position) {
  if (NextRow() <= position) last_row_ = position;
  last_tick_ = position;
}

bool TickScheduler::TakeTick(size_t group, int64_t position) {
  if (groups_[group].next != position) return false;
  groups_[group].next += groups_[group].interval;
  return true;
}

bool TickScheduler::WasDue(int64_t interval, bool align_job) const {
  return last_tick_ != kMinPosition &&
         FloorTo(last_tick_, interval, OriginOf(align_job)) == last_tick_;
}

void TickScheduler::Save(int64_t watermark, BinaryWriter& out) const {
  out.I64(origin_);
  out.Bool(scheduled_);
  out.I64(last_tick_);
  out.I64(watermark);
  out.I64(last_row_);
}

void TickScheduler::Restore(int64_t* watermark, BinaryReader& in) {
  origin_ = in.I64();
  scheduled_ = in.Bool();
  last_tick_ = in.I64();
  *watermark = in.I64();
  last_row_ = in.I64();
}

}  // namespace pitwall::engine
