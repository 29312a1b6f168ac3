#include "services/engine/sources/event_schedule.h"

#include <string>

namespace pitwall::engine {

void EventSchedule::Insert(TimelineEventKey key, TimelineEvent event) {
  events_.Add(std::move(key), std::move(event));
  memory_->Set(PendingKind::kTimelineEvents, events_.bytes());
}

void EventSchedule::Add(EventTime time, Phase phase, const Source& source, uint64_t sequence,
                        uint32_t index, TimelineEvent event) {
  Insert({clock_->ClampToFuture(time), phase, source.id, source.boot, sequence, index},
         std::move(event));
}

void EventSchedule::AddRead(EventTime time, Phase phase, const Source& source, uint64_t sequence,
                            uint32_t index, TimelineEvent event) {
  constexpr size_t kShort = 4096;
  const bool end = event.kind == TimelineEvent::Kind::kJobEnded ||
                   event.kind == TimelineEvent::Kind::kRankLost ||
                   event.kind == TimelineEvent::Kind::kLauncherGone;
  const size_t bytes =
      Timeline::Bytes({time, phase, source.id, source.boot, sequence, index}, event);
  if (!memory_->Fits(bytes) && !(end && bytes <= kShort)) {
    limits_->CountPending(1, memory_->limit(), memory_->largest_name());
    return;
  }
  Add(time, phase, source, sequence, index, std::move(event));
}

void EventSchedule::AddOwn(EventTime time, uint32_t index, TimelineEvent event) {
  Insert({time, Phase::kEnd, std::string(kOwnSource), "", 0, index}, std::move(event));
}

std::pair<TimelineEventKey, TimelineEvent> EventSchedule::TakeFirst() {
  auto first = events_.TakeFirst();
  memory_->Set(PendingKind::kTimelineEvents, events_.bytes());
  return first;
}

void EventSchedule::Clear() {
  events_ = Timeline();
  memory_->Set(PendingKind::kTimelineEvents, 0);
}

Status EventSchedule::Restore(BinaryReader& in) {
  RETURN_IF_ERROR(events_.Restore(in));
  memory_->Set(PendingKind::kTimelineEvents, events_.bytes());
  return OkStatus();
}

}  // namespace pitwall::engine
