// Attempt of a job: its number, whether it is open, and the state of its ranks (time-model.md,
// section 4).
#pragma once

#include <cstdint>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/lifecycle/attempt_ranks.h"
#include "services/engine/sources/source.h"

namespace pitwall::engine {

// A state machine in event time. Not thread-safe.
class JobAttempt {
 public:
  // Position of a rank's boot relative to the running attempt.
  enum class Place {
    kCurrent,   // belongs to the running attempt
    kNext,      // starts the next attempt
    kPast,      // older than the running attempt
    kFollowing  // follows rank 0, whose start decides
  };

  // Number of the attempt. 0 before the first attempt of a job without explicit attempt numbers.
  uint64_t number() const { return number_; }
  // Returns whether any attempt has started.
  bool started() const { return started_; }
  // Returns whether the attempt has started and no event has reported its end.
  bool open() const { return open_; }
  AttemptRanks& ranks() { return ranks_; }
  const AttemptRanks& ranks() const { return ranks_; }
  // Returns the context of an evaluation on the time clock in this attempt.
  EvalTime ContextAt(EventTime time) const {
    return {.position = PositionOf(time), .time = time, .step = Step::None(), .attempt = number_};
  }

  // Returns the number of the next attempt.
  uint64_t NextNumber() const { return started_ ? number_ + 1 : next_number_; }
  // Starts an attempt with `first`. Running ranks continue to count as running.
  void Begin(uint64_t number, const Source& first);
  // Returns the position of a rank's boot. If another rank started the attempt that rank 0 belongs
  // to, rank 0 replaces it as the starting rank.
  Place PlaceBoot(const Source& source);
  // Reopens the closed attempt when one of its sources returns. Returns false if there was nothing
  // to reopen.
  bool Reopen(const Source& source);
  // Marks the attempt's end as reported.
  void Close() { open_ = false; }
  // Prepares for a restart of the job after its end. The next attempt gets the next number.
  void Resume();

  // Saves the number and the state, then the ranks.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
  // Saves the rank that started the attempt. Separate from Save because only a running job has this
  // data.
  void SaveFirstRank(BinaryWriter& out) const;
  void RestoreFirstRank(BinaryReader& in);

 private:
  uint64_t number_ = 0;
  bool started_ = false;
  uint64_t next_number_ = 1;  // Empty if no rank has started an attempt.
  bool open_ = false;
  EventTime boot_;  // Start time of the rank that started the attempt.
  bool by_rank_0_ = false;
  AttemptRanks ranks_;
};

}  // namespace pitwall::engine
