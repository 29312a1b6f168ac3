#include "services/engine/ticks/tick_scheduler.h"

#include <algorithm>

#include "services/model/position.h"

namespace pitwall::engine {

namespace {

// Distance after the last row within which all ticks are evaluated. It exceeds the number of panes
// in a window that keeps its samples. Later ticks are spaced by 1/kQuietParts of the time without a
// row, so a window of 60,000 steps costs hundreds of evaluations instead of 120,000.
constexpr Duration kDenseQuiet = 4096 * kStepLength;
constexpr int64_t kQuietParts = 64;

Duration QuietHorizonOf(const plan::DomainPlan& domain) {
  Duration window;
  for (const Demand& demand : domain.demands.demands)
    window = std::max(
        {window, Duration::Nanos(demand.range + demand.offset), Duration::Nanos(demand.lookback)});
  for (const plan::Subquery& subquery : domain.subqueries) window += subquery.reach;
  Duration patience;
  Duration interval;
  for (const plan::Group& group : domain.groups) {
    interval = std::max(interval, group.interval);
    for (const plan::Rule& rule : group.rules)
      patience = std::max(patience, rule.hold + rule.keep_firing + rule.unsteady);
  }
  // The factor is two because a window may read a series recorded by a rule that itself reads a
  // window. The extra ten minutes are cheap.
  return 2 * (window + patience + interval) + Duration::Minutes(10);
}

// Returns the position of the first row that no tick has sealed, or Position::Latest().
Position NextRow(const DomainInputs& inputs) {
  return inputs.store()->OldestOpen().value_or(Position::Latest());
}

}  // namespace

TickScheduler::TickScheduler(DomainInputs* inputs)
    : inputs_(inputs),
      groups_(inputs->domain()),
      quiet_horizon_(QuietHorizonOf(inputs->domain())) {}

void TickScheduler::SetOrigin(Position origin, Position not_before) {
  origin_ = origin;
  last_tick_ = std::max(last_tick_, not_before);
  inputs_->SetOrigin(origin);
  inputs_->subqueries().schedule().Start(std::max(origin.Previous(), last_tick_), last_tick_);
  ScheduleAfter(std::max(origin.Previous(), last_tick_));
}

void TickScheduler::StartAt(Position position) {
  if (scheduled_) return;
  if (origin_ == Position::Earliest()) return SetOrigin(position);
  inputs_->subqueries().schedule().Start(std::max(last_tick_, position.Previous()), last_tick_);
  last_tick_ = std::max(last_tick_, position.Previous());
  ScheduleAfter(last_tick_);
}

void TickScheduler::Restart() {
  last_tick_ = Position::Earliest();
  watermark_ = Position::Earliest();
  last_row_ = Position::Earliest();
  scheduled_ = false;
  groups_.Reset();
}

ReloadStart TickScheduler::StartOfReload(Position position) const {
  return {.after = scheduled_ ? std::max({origin_.Previous(), last_tick_, position})
                              : Position::Earliest(),
          .origin = origin_};
}

void TickScheduler::Replace(const ReloadStart& start) {
  groups_ = GroupSchedule(inputs_->domain());
  quiet_horizon_ = QuietHorizonOf(inputs_->domain());
  // Samples from before the reload are missing if no selector read them, so groups start after the
  // reload.
  if (scheduled_) ScheduleAfter(start.after);
}

void TickScheduler::ScheduleAfter(Position position) {
  groups_.StartAfter(position, origin_);
  scheduled_ = true;
}

Position TickScheduler::NextTick() const {
  return std::min(inputs_->subqueries().schedule().NextTick(), groups_.NextTick());
}

void TickScheduler::SkipTo(Position position) {
  groups_.SkipTo(position, origin_);
  inputs_->subqueries().schedule().SkipTo(position);
}

void TickScheduler::SkipQuiet(Position to) {
  to = std::min(to, NextRow(*inputs_).Previous());
  const Position next = NextTick();
  if (last_row_ == Position::Earliest()) last_row_ = next;
  const Duration quiet = next - last_row_;
  if (quiet > quiet_horizon_ && to - next > quiet_horizon_) {
    SkipTo(to);
  } else if (quiet > kDenseQuiet) {
    SkipTo(std::min(to, next + quiet / kQuietParts));
  }
}

void TickScheduler::BeginTick(Position position) {
  if (NextRow(*inputs_) <= position) last_row_ = position;
  last_tick_ = position;
}

bool TickScheduler::WasDue(Duration interval, bool align_job) const {
  return last_tick_ != Position::Earliest() &&
         FloorTo(last_tick_, interval, align_job ? origin_ : Position()) == last_tick_;
}

void TickScheduler::Save(BinaryWriter& out) const {
  out.I64(origin_.ns());
  out.Bool(scheduled_);
  out.I64(last_tick_.ns());
  out.I64(watermark_.ns());
  out.I64(last_row_.ns());
}

void TickScheduler::Restore(BinaryReader& in) {
  origin_ = Position::FromNs(in.I64());
  scheduled_ = in.Bool();
  last_tick_ = Position::FromNs(in.I64());
  watermark_ = Position::FromNs(in.I64());
  last_row_ = Position::FromNs(in.I64());
}

}  // namespace pitwall::engine
