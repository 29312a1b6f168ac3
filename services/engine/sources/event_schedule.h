// Events that wait for a job's watermark, within the job's memory limit.
#pragma once

#include <cstdint>
#include <utility>

#include "services/engine/program/limit_report.h"
#include "services/engine/sources/job_clock.h"
#include "services/engine/sources/pending_bytes.h"
#include "services/engine/sources/source.h"
#include "services/engine/sources/timeline.h"

namespace pitwall::engine {

// Counts its contents in PendingBytes. Not thread-safe.
class EventSchedule {
 public:
  // The pointers are borrowed.
  EventSchedule(const JobClock* clock, PendingBytes* memory, LimitReport* limits)
      : clock_(clock), memory_(memory), limits_(limits) {}

  // Adds an engine event about a source. A time at or before the watermark is moved to just after
  // it.
  void Add(EventTime time, Phase phase, const Source& source, uint64_t sequence, uint32_t index,
           TimelineEvent event);
  // Like Add, but for an event in a batch. Drops and counts the event if the job holds too much
  // data. Always accepts a short event that reports an end.
  void AddRead(EventTime time, Phase phase, const Source& source, uint64_t sequence, uint32_t index,
               TimelineEvent event);
  // Adds an event that the engine creates about the job. The event follows source events with the
  // same time.
  void AddOwn(EventTime time, uint32_t index, TimelineEvent event);

  // Returns the next event due at or before `upto`, or null. Valid until the next change.
  const TimelineEventKey* FirstUpTo(EventTime upto) const { return events_.FirstUpTo(upto); }
  std::pair<TimelineEventKey, TimelineEvent> TakeFirst();
  void Clear();

  void Save(BinaryWriter& out) const { events_.Save(out); }
  Status Restore(BinaryReader& in);

 private:
  void Insert(TimelineEventKey key, TimelineEvent event);

  const JobClock* const clock_;
  PendingBytes* const memory_;
  LimitReport* const limits_;
  Timeline events_;
};

}  // namespace pitwall::engine
