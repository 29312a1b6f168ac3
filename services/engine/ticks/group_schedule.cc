#include "services/engine/ticks/group_schedule.h"

#include <algorithm>

namespace pitwall::engine {

GroupSchedule::GroupSchedule(const plan::DomainPlan& domain) {
  for (const plan::Group& group : domain.groups)
    entries_.push_back({.interval = group.interval, .align_job = group.align_job});
}

void GroupSchedule::StartAfter(Position position, Position origin) {
  for (Entry& entry : entries_)
    entry.next = NextAfter(position, entry.interval, entry.align_job ? origin : Position());
}

void GroupSchedule::Reset() {
  for (Entry& entry : entries_) entry.next = Position::Latest();
}

Position GroupSchedule::NextTick() const {
  Position next = Position::Latest();
  for (const Entry& entry : entries_) next = std::min(next, entry.next);
  return next;
}

void GroupSchedule::SkipTo(Position position, Position origin) {
  for (Entry& entry : entries_) {
    const Position last = FloorTo(position, entry.interval, entry.align_job ? origin : Position());
    entry.next = std::max(entry.next, last);
  }
}

bool GroupSchedule::TakeTick(size_t group, Position position) {
  Entry& entry = entries_[group];
  if (entry.next != position) return false;
  entry.next += entry.interval;
  return true;
}

}  // namespace pitwall::engine
