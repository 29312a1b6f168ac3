// The attempt of a job: its number, whether it is open, and the state of its ranks (time-model.md,
// section 4).
#pragma once

#include <cstdint>

#include "services/base/binary.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/lifecycle/attempt_ranks.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// A state machine in event time. Not thread-safe.
class JobAttempt {
 public:
  // Place of a rank's boot among the attempts of the job.
  enum class Place {
    kCurrent,   // it belongs to the attempt that runs
    kNext,      // it begins the next one
    kPast,      // it is older than the attempt that runs
    kFollowing  // it follows rank 0, which decides
  };

  // 0 before the first attempt of a job that numbers none.
  uint64_t number() const { return number_; }
  // Some attempt has begun.
  bool started() const { return started_; }
  // Whether it has begun and no event has reported its end.
  bool open() const { return open_; }
  AttemptRanks& ranks() { return ranks_; }
  const AttemptRanks& ranks() const { return ranks_; }
  // Context of an evaluation on the time clock, in this attempt.
  EvalTime ContextAt(int64_t position) const {
    return {.position = position, .time_ns = position, .step = kNoStep, .attempt = number_};
  }

  // Number of the attempt that would begin now.
  uint64_t NextNumber() const { return started_ ? number_ + 1 : next_number_; }
  // Begins with `first`. Ranks that run stay counted as running.
  void Begin(uint64_t number, const Source& first);
  // Judges a boot of a rank. A rank 0 whose attempt another rank began becomes the one that began
  // it.
  Place PlaceBoot(const Source& source);
  // A source of the attempt that was closed is here again. False: nothing changed.
  bool Reopen(const Source& source);
  // Marks its end as reported.
  void Close() { open_ = false; }
  // The job begins again after its end: the next attempt has the next number.
  void Resume();

  // Number and state, then the ranks.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  // The rank that began it, apart: of a job that runs.
  void SaveFirstRank(BinaryWriter& out) const;
  void RestoreFirstRank(BinaryReader& in);

 private:
  uint64_t number_ = 0;
  bool started_ = false;
  uint64_t next_number_ = 1;  // where none has started
  bool open_ = false;
  int64_t boot_ns_ = 0;  // start of the rank that began it
  bool by_rank_0_ = false;
  AttemptRanks ranks_;
};

}  // namespace pitwall::engine
