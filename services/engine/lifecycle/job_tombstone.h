// End of a job, and the tombstone that drops later input until it expires (time-model.md, section
// 4).
#pragma once

#include <algorithm>
#include <optional>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

// Not thread-safe.
class JobTombstone {
 public:
  bool ended() const { return ended_; }
  // Event time of the end. Requires ended().
  EventTime ended_at() const { return ended_at_; }
  // Returns whether an event ended the job, rather than grace or silence. Such a job never resumes.
  bool by_event() const { return by_event_; }
  // Returns whether the tombstone has expired.
  bool gone() const { return gone_; }

  void End(EventTime at, bool by_event) {
    ended_ = true;
    by_event_ = by_event;
    ended_at_ = at;
    age_ = Duration::Zero();
  }
  // Replaces an end by grace or silence with an end by event, no earlier than `at`.
  void Amend(EventTime at) {
    by_event_ = true;
    age_ = Duration::Zero();
    ended_at_ = std::max(ended_at_, at);
  }
  // Ages the tombstone of an ended job. `lasts` is EngineOptions::Ends::tombstone.
  void Tick(Duration elapsed, Duration lasts) {
    age_ += elapsed;
    gone_ = age_ > lasts;
  }
  // Returns whether the batch shows that a job that ended without an event is still alive.
  // `died_at` is the time of its attempt's death, if any.
  bool IsResumedBy(const Batch& batch, const std::optional<EventTime>& died_at) const;
  void Resume() {
    ended_ = false;
    age_ = Duration::Zero();
  }

  // Saves whether the job has ended, and the tombstone's age.
  void SaveAge(BinaryWriter& out) const {
    out.Bool(ended_);
    out.I64(age_.ns());
  }
  void RestoreAge(BinaryReader& in) {
    ended_ = in.Bool();
    age_ = Duration::Nanos(in.I64());
  }
  // Saves how and when the job ended.
  void SaveEnd(BinaryWriter& out) const {
    out.Bool(by_event_);
    out.I64(ended_at_.ns());
  }
  void RestoreEnd(BinaryReader& in) {
    by_event_ = in.Bool();
    ended_at_ = EventTime::FromNs(in.I64());
  }

 private:
  bool ended_ = false;
  bool by_event_ = false;
  EventTime ended_at_ = EventTime::Earliest();
  Duration age_;  // Sum of all ticks.
  bool gone_ = false;
};

}  // namespace pitwall::engine
