#include "services/engine/lifecycle/job_attempt.h"

namespace pitwall::engine {

void JobAttempt::Begin(uint64_t number, const Source& first) {
  started_ = true;
  number_ = number;
  boot_ = first.start();
  by_rank_0_ = first.info.rank == 0;
  open_ = true;
}

JobAttempt::Place JobAttempt::PlaceBoot(const Source& source) {
  if (source.info.attempt.has_value()) {
    if (!started_ || *source.info.attempt > number_) return Place::kNext;
    return *source.info.attempt < number_ ? Place::kPast : Place::kCurrent;
  }
  if (source.info.rank != 0) return Place::kFollowing;
  if (started_ && open_ && !by_rank_0_) {
    // Another rank finished a step before this rank was known. That step started the attempt for
    // both ranks.
    boot_ = source.start();
    by_rank_0_ = true;
    return Place::kCurrent;
  }
  if (!started_ || source.start() > boot_) return Place::kNext;
  // The boot is older than the boot of rank 0 that started this attempt, and is no longer in the
  // table.
  return source.start() < boot_ && by_rank_0_ ? Place::kPast : Place::kCurrent;
}

bool JobAttempt::Reopen(const Source& source) {
  if (!started_ || open_ || source.attempt != number_) return false;
  open_ = true;
  return true;
}

void JobAttempt::Resume() {
  next_number_ = number_ + (started_ ? 1 : 0);
  if (next_number_ == 0) next_number_ = 1;
  started_ = false;
  by_rank_0_ = false;
  boot_ = EventTime();
  ranks_.Resume();
}

void JobAttempt::Save(BinaryWriter& out) const {
  out.U64(number_);
  out.Bool(started_);
  out.U64(next_number_);
  out.Bool(open_);
  ranks_.Save(out);
}

void JobAttempt::Restore(BinaryReader& in) {
  number_ = in.U64();
  started_ = in.Bool();
  next_number_ = in.U64();
  open_ = in.Bool();
  ranks_.Restore(in);
}

void JobAttempt::SaveFirstRank(BinaryWriter& out) const {
  out.I64(boot_.ns());
  out.Bool(by_rank_0_);
}

void JobAttempt::RestoreFirstRank(BinaryReader& in) {
  boot_ = EventTime::FromNs(in.I64());
  by_rank_0_ = in.Bool();
}

}  // namespace pitwall::engine
