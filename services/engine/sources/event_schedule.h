// Events of a job that wait for its watermark, within the bound of its memory.
#pragma once

#include <cstdint>
#include <utility>

#include "services/engine/program/limit_report.h"
#include "services/engine/sources/job_clock.h"
#include "services/engine/sources/pending_bytes.h"
#include "services/engine/sources/source.h"
#include "services/engine/sources/timeline.h"

namespace pitwall::engine {

// Counts what it holds in PendingBytes. Not thread-safe.
class EventSchedule {
 public:
  // All are borrowed.
  EventSchedule(const JobClock* clock, PendingBytes* memory, LimitReport* limits)
      : clock_(clock), memory_(memory), limits_(limits) {}

  // Adds an event of the engine about a source. What would lie at or before the watermark comes
  // right after it.
  void Add(int64_t position, Phase phase, const Source& source, uint64_t sequence, uint32_t index,
           TimelineEvent event);
  // The same for what a batch brought: left out and counted when the job holds too much. A short
  // event of an end is always taken.
  void AddRead(int64_t position, Phase phase, const Source& source, uint64_t sequence,
               uint32_t index, TimelineEvent event);
  // Adds an event of the engine itself, at that position and after events of sources there.
  void AddOwn(int64_t position, uint32_t index, TimelineEvent event);

  // Null: nothing is due at or before `upto`. Valid until the next change.
  const TimelineEventKey* FirstUpTo(int64_t upto) const { return events_.FirstUpTo(upto); }
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
