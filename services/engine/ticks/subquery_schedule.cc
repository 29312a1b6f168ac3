#include "services/engine/ticks/subquery_schedule.h"

#include <algorithm>

namespace pitwall::engine {

SubquerySchedule::SubquerySchedule(const plan::DomainPlan& domain) {
  for (const plan::Subquery& subquery : domain.subqueries)
    entries_.push_back({.step = subquery.step, .from_nothing = subquery.from_nothing});
  // A subquery may be read by later subqueries; in the worst case, all of them are nested, so their
  // reaches add up. A window that ends at a tick is read until the next tick, so the interval is
  // added.
  Duration reach;
  for (size_t i = entries_.size(); i-- > 0;) {
    Duration interval;
    for (const Demand& demand : domain.subqueries[i].demands.demands)
      interval = std::max(interval, Duration::Nanos(demand.interval));
    reach += domain.subqueries[i].reach + interval;
    entries_[i].reach = reach;
  }
}

void SubquerySchedule::Start(Position position, Position not_before) {
  for (Entry& entry : entries_) {
    const Position from = position - (entry.from_nothing ? entry.reach : Duration::Zero());
    entry.next = NextAfter(std::max(from, not_before), entry.step);
  }
}

void SubquerySchedule::StartOne(size_t subquery, Position position) {
  entries_[subquery].next = NextAfter(position, entries_[subquery].step);
}

void SubquerySchedule::Inherit(size_t subquery, const SubquerySchedule& from, size_t other) {
  entries_[subquery].next = from.entries_[other].next;
}

void SubquerySchedule::Reset() {
  for (Entry& entry : entries_) entry.next = Position::Latest();
}

Position SubquerySchedule::NextTick() const {
  Position next = Position::Latest();
  for (const Entry& entry : entries_) next = std::min(next, entry.next);
  return next;
}

void SubquerySchedule::SkipTo(Position position) {
  for (Entry& entry : entries_)
    entry.next = std::max(entry.next, NextAfter(position - entry.reach, entry.step));
}

}  // namespace pitwall::engine
