// Event-time progress of one job: its watermark, and the work that becomes due with it
// (time-model.md, section 2). Positions are event times in Unix nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "services/base/binary.h"
#include "services/base/clock.h"
#include "services/engine/program/limits.h"
#include "services/model/position.h"

namespace pitwall::engine {

// The watermark only grows, except in Resume. Not thread-safe.
class JobClock {
 public:
  explicit JobClock(const EngineOptions& options) : options_(options) {}

  // Returns whether the job has a watermark.
  bool begun() const { return watermark_ != kMinPosition; }
  int64_t watermark() const { return watermark_; }
  // The first second of the job, at which ticks start.
  int64_t origin() const { return origin_; }
  // End of the job before it resumed; kMinPosition if it never resumed.
  int64_t floor() const { return floor_; }
  // Position up to which no further input is accepted, or kMinPosition at first.
  int64_t passed() const { return std::max(watermark_, floor_); }
  // Returns `position`, or the earliest position that has not been passed if that is later.
  int64_t ClampToFuture(int64_t position) const {
    return passed() == kMinPosition ? position : std::max(position, passed() + 1);
  }
  // Advances the watermark. `to` must be greater than passed().
  void Advance(int64_t to) {
    if (!begun()) {
      origin_ = FloorTo(to, kNanosPerSecond);
      next_step_judgement_ = NextAfter(to - 1, options_.intervals.step_status_ns);
    }
    watermark_ = to;
  }
  // Starts the job again after an end at `floor`.
  void Resume(int64_t floor) {
    watermark_ = origin_ = applied_ = last_activity_ = last_batch_watermark_ = kMinPosition;
    next_step_judgement_ = next_expiry_ = kMinPosition;
    floor_ = floor;
  }

  // Records that input was applied at the position.
  void NoteActivity(int64_t position) { last_activity_ = std::max(last_activity_, position); }
  // Returns whether no input was applied for longer than `horizon` before `next`, and `next` is
  // more than `horizon` before `position`.
  bool IsQuiet(int64_t next, int64_t position, int64_t horizon) const {
    return last_activity_ != kMinPosition && next > last_activity_ + horizon &&
           position - next > horizon;
  }
  // Time of the next status update of step rules.
  int64_t next_step_judgement() const { return next_step_judgement_; }
  void FinishStepJudgement() { next_step_judgement_ += options_.intervals.step_status_ns; }
  // Skips all updates except the last one before `position`.
  void SkipStepJudgements(int64_t position) {
    next_step_judgement_ =
        std::max(next_step_judgement_, FloorTo(position - 1, options_.intervals.step_status_ns));
  }
  // Records that all input up to `to` was applied. Returns true if series may have to be expired.
  bool FinishApplying(int64_t to) {
    applied_ = to;
    if (to < next_expiry_) return false;
    next_expiry_ = to + options_.intervals.expiry_ns;
    return true;
  }
  // Records a batch. The time until the next batch counts as silence.
  void NoteBatch() { last_batch_watermark_ = watermark_; }
  int64_t silent_ns() const { return watermark_ - last_batch_watermark_; }

  // Saves all state except the floor, which a snapshot stores elsewhere.
  void Save(BinaryWriter& out) const {
    for (const int64_t position : {watermark_, origin_, applied_, last_activity_,
                                   last_batch_watermark_, next_step_judgement_, next_expiry_})
      out.I64(position);
  }
  void Restore(BinaryReader& in) {
    for (int64_t* position : {&watermark_, &origin_, &applied_, &last_activity_,
                              &last_batch_watermark_, &next_step_judgement_, &next_expiry_})
      *position = in.I64();
  }

 private:
  const EngineOptions& options_;
  int64_t watermark_ = kMinPosition;
  int64_t origin_ = kMinPosition;
  int64_t applied_ = kMinPosition;        // All input up to this position was applied.
  int64_t last_activity_ = kMinPosition;  // Position of the newest applied input.
  int64_t last_batch_watermark_ = kMinPosition;
  int64_t next_step_judgement_ = kMinPosition;
  int64_t next_expiry_ = kMinPosition;
  int64_t floor_ = kMinPosition;
};

}  // namespace pitwall::engine
