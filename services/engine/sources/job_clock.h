// Event-time progress of one job: its watermark, and work that becomes due as the watermark
// advances (time-model.md, section 2). All times are event times.
#pragma once

#include <algorithm>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/program/limits.h"

namespace pitwall::engine {

// The watermark only advances, except in Resume. Not thread-safe.
class JobClock {
 public:
  explicit JobClock(const EngineOptions& options) : options_(options) {}

  // Returns whether the job has a watermark.
  bool begun() const { return watermark_ != EventTime::Earliest(); }
  EventTime watermark() const { return watermark_; }
  // First second of the job. Ticks start at this time.
  EventTime origin() const { return origin_; }
  // End of the job before it resumed; EventTime::Earliest() if it never resumed.
  EventTime floor() const { return floor_; }
  // No input up to this time is accepted anymore. Initially EventTime::Earliest().
  EventTime passed() const { return std::max(watermark_, floor_); }
  // Returns `time` or the earliest time that has not been passed, whichever is later.
  EventTime ClampToFuture(EventTime time) const { return std::max(time, passed().Next()); }
  // Advances the watermark. `to` must be greater than passed().
  void Advance(EventTime to) {
    if (!begun()) {
      origin_ = FloorTo(to, Duration::Seconds(1));
      next_step_judgement_ = NextAfter(to.Previous(), options_.intervals.step_status);
    }
    watermark_ = to;
  }
  // Restarts the job after its end at `floor`.
  void Resume(EventTime floor) {
    watermark_ = origin_ = applied_ = last_activity_ = last_batch_watermark_ =
        EventTime::Earliest();
    next_step_judgement_ = next_expiry_ = EventTime::Earliest();
    floor_ = floor;
  }

  // Records that input was applied at that time.
  void NoteActivity(EventTime time) { last_activity_ = std::max(last_activity_, time); }
  // Returns whether no input was applied for longer than `horizon` before `next`, and `next` is
  // more than `horizon` before `end`.
  bool IsQuiet(EventTime next, EventTime end, Duration horizon) const {
    return last_activity_ != EventTime::Earliest() && next > last_activity_ + horizon &&
           end - next > horizon;
  }
  // Time of the next status update for step rules.
  EventTime next_step_judgement() const { return next_step_judgement_; }
  void FinishStepJudgement() { next_step_judgement_ += options_.intervals.step_status; }
  // Skips all updates except the last one before `end`.
  void SkipStepJudgements(EventTime end) {
    next_step_judgement_ =
        std::max(next_step_judgement_, FloorTo(end.Previous(), options_.intervals.step_status));
  }
  // Records that all input up to `to` was applied. Returns true if it is time to expire series.
  bool FinishApplying(EventTime to) {
    applied_ = to;
    if (to < next_expiry_) return false;
    next_expiry_ = to + options_.intervals.expiry;
    return true;
  }
  // Records a batch. The time until the next batch counts as silence.
  void NoteBatch() { last_batch_watermark_ = watermark_; }
  Duration silence() const { return watermark_ - last_batch_watermark_; }

  // Saves all state except the floor, which a snapshot stores elsewhere.
  void Save(BinaryWriter& out) const {
    for (const EventTime time : {watermark_, origin_, applied_, last_activity_,
                                 last_batch_watermark_, next_step_judgement_, next_expiry_})
      out.I64(time.ns());
  }
  void Restore(BinaryReader& in) {
    for (EventTime* time : {&watermark_, &origin_, &applied_, &last_activity_,
                            &last_batch_watermark_, &next_step_judgement_, &next_expiry_})
      *time = EventTime::FromNs(in.I64());
  }

 private:
  const EngineOptions& options_;
  EventTime watermark_ = EventTime::Earliest();
  EventTime origin_ = EventTime::Earliest();
  EventTime applied_ = EventTime::Earliest();        // All input up to this time was applied.
  EventTime last_activity_ = EventTime::Earliest();  // Time of the newest applied input.
  EventTime last_batch_watermark_ = EventTime::Earliest();
  EventTime next_step_judgement_ = EventTime::Earliest();
  EventTime next_expiry_ = EventTime::Earliest();
  EventTime floor_ = EventTime::Earliest();
};

}  // namespace pitwall::engine
