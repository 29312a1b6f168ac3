#include "services/engine/ticks/tick_scheduler.h"

#include <algorithm>

#include "services/base/clock.h"

namespace pitwall::engine {

namespace {

// Distance after the last row within which all ticks are evaluated. It exceeds the number of panes
// in a window that keeps its samples. Later ticks are spaced by 1/kQuietParts of the time without a
// row, so that a window of 60,000 steps costs hundreds of evaluations instead of 120,000.
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
  // The factor is two because a window may read a recorded series that itself reads a window. The
  // extra ten minutes are cheap.
  return 2 * (window + patience + interval) + 600 * kNanosPerSecond;
}

// Returns the position of the first row that no tick has sealed, or kMaxPosition.
int64_t NextRow(const DomainInputs& inputs) {
  return inputs.store()->OldestOpen().value_or(kMaxPosition);
}

}  // namespace

TickScheduler::TickScheduler(DomainInputs* inputs)
    : inputs_(inputs),
      groups_(inputs->domain()),
      quiet_horizon_(QuietHorizonOf(inputs->domain())) {}

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
  watermark_ = kMinPosition;
  last_row_ = kMinPosition;
  scheduled_ = false;
  groups_.Reset();
}

ReloadStart TickScheduler::StartOfReload(int64_t position) const {
  return {.after = scheduled_ ? std::max({origin_ - 1, last_tick_, position}) : kMinPosition,
          .origin = origin_};
}

void TickScheduler::Replace(const ReloadStart& start) {
  groups_ = GroupSchedule(inputs_->domain());
  quiet_horizon_ = QuietHorizonOf(inputs_->domain());
  // Samples from before the reload are missing if no selector read them, so groups start after the
  // reload.
  if (scheduled_) ScheduleAfter(start.after);
}

void TickScheduler::ScheduleAfter(int64_t position) {
  groups_.StartAfter(position, origin_);
  scheduled_ = true;
}

int64_t TickScheduler::NextTick() const {
  return std::min(inputs_->subqueries().schedule().NextTick(), groups_.NextTick());
}

void TickScheduler::SkipTo(int64_t position) {
  groups_.SkipTo(position, origin_);
  inputs_->subqueries().schedule().SkipTo(position);
}

void TickScheduler::SkipQuiet(int64_t to) {
  to = std::min(to, NextRow(*inputs_) - 1);
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
  if (NextRow(*inputs_) <= position) last_row_ = position;
  last_tick_ = position;
}

bool TickScheduler::WasDue(int64_t interval, bool align_job) const {
  return last_tick_ != kMinPosition &&
         FloorTo(last_tick_, interval, align_job ? origin_ : 0) == last_tick_;
}

void TickScheduler::Save(BinaryWriter& out) const {
  out.I64(origin_);
  out.Bool(scheduled_);
  out.I64(last_tick_);
  out.I64(watermark_);
  out.I64(last_row_);
}

void TickScheduler::Restore(BinaryReader& in) {
  origin_ = in.I64();
  scheduled_ = in.Bool();
  last_tick_ = in.I64();
  watermark_ = in.I64();
  last_row_ = in.I64();
}

}  // namespace pitwall::engine
