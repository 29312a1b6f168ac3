// Progress of one job in event time: its watermark, and which work is due with it (time-model.md,
// section 2). Positions are event times in Unix nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "services/base/binary.h"
#include "services/base/clock.h"
#include "services/engine/program/limits.h"
#include "services/model/position.h"

namespace pitwall::engine {

// The watermark only grows, but for Resume. Not thread-safe.
class JobClock {
 public:
  explicit JobClock(const EngineOptions& options) : options_(options) {}

  // The job has a watermark.
  bool begun() const { return watermark_ != kMinPosition; }
  int64_t watermark() const { return watermark_; }
  // The first second of the job, where ticks begin.
  int64_t origin() const { return origin_; }
  // End of the job before it resumed; kMinPosition: it never did.
  int64_t floor() const { return floor_; }
  // Nothing at or before it can happen any more; kMinPosition: anything can.
  int64_t passed() const { return std::max(watermark_, floor_); }
  // The earliest position at which something that becomes known now can still happen.
  int64_t ClampToFuture(int64_t position) const {
    return passed() == kMinPosition ? position : std::max(position, passed() + 1);
  }
  // `to` is greater than passed().
  void Advance(int64_t to) {
    if (!begun()) {
      origin_ = FloorTo(to, kNanosPerSecond);
      next_step_judgement_ = NextAfter(to - 1, options_.intervals.step_status_ns);
    }
    watermark_ = to;
  }
  // The job begins again, after an end at `floor`.
  void Resume(int64_t floor) {
    watermark_ = origin_ = applied_ = last_activity_ = last_batch_watermark_ = kMinPosition;
    next_step_judgement_ = next_expiry_ = kMinPosition;
    floor_ = floor;
  }

  // Something was applied at the position.
  void NoteActivity(int64_t position) { last_activity_ = std::max(last_activity_, position); }
  // Nothing was applied for longer than `horizon`, at `next` and until `position`.
  bool IsQuiet(int64_t next, int64_t position, int64_t horizon) const {
    return last_activity_ != kMinPosition && next > last_activity_ + horizon &&
           position - next > horizon;
  }
  // When status and needs of step rules are judged next.
  int64_t next_step_judgement() const { return next_step_judgement_; }
  void FinishStepJudgement() { next_step_judgement_ += options_.intervals.step_status_ns; }
  // Leaves out all judgements before the last one below `position`.
  void SkipStepJudgements(int64_t position) {
    next_step_judgement_ =
        std::max(next_step_judgement_, FloorTo(position - 1, options_.intervals.step_status_ns));
  }
  // Everything up to `to` was applied. True: series are due to expire.
  bool FinishApplying(int64_t to) {
    applied_ = to;
    if (to < next_expiry_) return false;
    next_expiry_ = to + options_.intervals.expiry_ns;
    return true;
  }
  // A batch came. Until the next one the job is silent.
  void NoteBatch() { last_batch_watermark_ = watermark_; }
  int64_t silent_ns() const { return watermark_ - last_batch_watermark_; }

  // All but the floor, which a snapshot has elsewhere.
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
  int64_t applied_ = kMinPosition;        // everything at or before it was applied
  int64_t last_activity_ = kMinPosition;  // position of the newest thing applied
  int64_t last_batch_watermark_ = kMinPosition;
  int64_t next_step_judgement_ = kMinPosition;
  int64_t next_expiry_ = kMinPosition;
  int64_t floor_ = kMinPosition;
};

}  // namespace pitwall::engine
