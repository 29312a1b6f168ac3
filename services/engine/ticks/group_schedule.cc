#include "services/engine/ticks/group_schedule.h"

#include <algorithm>

namespace pitwall::engine {

GroupSchedule::GroupSchedule(const plan::DomainPlan& domain) {
  for (const plan::Group& group : domain.groups)
    entries_.push_back({.interval = group.interval, .align_job = group.align_job});
}

void GroupSchedule::StartAfter(int64_t position, int64_t origin) {
  for (Entry& entry : entries_)
    entry.next = NextAfter(position, entry.interval, entry.align_job ? origin : 0);
}

void GroupSchedule::Reset() {
  for (Entry& entry : entries_) entry.next = kMaxPosition;
}

int64_t GroupSchedule::NextTick() const {
  int64_t next = kMaxPosition;
  for (const Entry& entry : entries_) next = std::min(next, entry.next);
  return next;
}

void GroupSchedule::SkipTo(int64_t position, int64_t origin) {
  for (Entry& entry : entries_) {
    const int64_t last = FloorTo(position, entry.interval, entry.align_job ? origin : 0);
    entry.next = std::max(entry.next, last);
  }
}

bool GroupSchedule::TakeTick(size_t group, int64_t position) {
  Entry& entry = entries_[group];
  if (entry.next != position) return false;
  entry.next += entry.interval;
  return true;
}

}  // namespace pitwall::engine
