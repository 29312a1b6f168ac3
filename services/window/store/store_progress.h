// Positions that a store has reached, and the version of the state that a read sees.
#pragma once

#include <cstdint>

#include "services/base/binary.h"
#include "services/base/check.h"
#include "services/base/time.h"

namespace pitwall::window {

// State of the store at the time of a read.
struct ReadTime {
  Position tick;
  Position attempt_at;  // exclusive start of attempt windows
  uint64_t version;     // changes with everything that a read can see; never 0
};

// Not thread-safe. The functions are inline because every row calls them.
class StoreProgress {
 public:
  // Returns the sealed position, or Position::Earliest() before the first seal and after Reset().
  Position sealed() const { return sealed_; }
  // Returns the origin for demands with align_job.
  Position origin() const { return origin_; }
  // Returns a number that increases with every change that a read can see.
  uint64_t version() const { return version_; }
  // Returns the time of a read. Requires that nothing has been sealed since BeginTick.
  ReadTime read_time() const {
    PITWALL_CHECK(tick_ == sealed_);
    return {tick_, attempt_at_, version_};
  }
  // Returns the position of the current tick.
  Position tick() const { return tick_; }

  // Sets the origin. Requires that StartSealing has not been called.
  void SetOrigin(Position origin) {
    PITWALL_CHECK(!started_);
    origin_ = origin;
  }
  // Fixes the origin. Call this before the rows of a seal are applied.
  void StartSealing() { started_ = true; }
  // Starts the first attempt with the row at `position`, unless an attempt has started.
  void AddRow(Position position) {
    if (attempt_at_ == Position::Earliest()) attempt_at_ = position.Previous();
  }
  // Sets the sealed position.
  void FinishSealing(Position upto) {
    sealed_ = upto;
    ++version_;
  }
  // Starts an attempt with the samples after `after`.
  void BeginAttempt(Position after) {
    attempt_at_ = after;
    ++version_;
  }
  // Starts a tick. Requires tick == sealed().
  void BeginTick(Position tick) {
    PITWALL_CHECK(tick == sealed_);
    tick_ = tick;
  }
  // Invalidates earlier reads after a change to the samples, series, or demands.
  void NoteChange() { ++version_; }
  // Resets all positions except the origin.
  void Reset() {
    sealed_ = tick_ = attempt_at_ = Position::Earliest();
    ++version_;
  }

  void Save(BinaryWriter& out) const {
    out.I64(sealed_.ns());
    out.I64(tick_.ns());
    out.I64(origin_.ns());
    out.I64(attempt_at_.ns());
    out.Bool(started_);
  }
  // Marks the reader as failed if a position is out of range. The version is not saved.
  void Load(BinaryReader& in) {
    sealed_ = Position::FromNs(in.I64());
    tick_ = Position::FromNs(in.I64());
    origin_ = Position::FromNs(in.I64());
    attempt_at_ = Position::FromNs(in.I64());
    started_ = in.Bool();
    for (const Position position : {sealed_, tick_, origin_, attempt_at_}) {
      if (position < Position::Earliest() || position > Position::Latest()) in.Fail();
    }
  }

 private:
  Position sealed_ = Position::Earliest();
  Position tick_ = Position::Earliest();
  Position origin_;
  // Exclusive start of attempt windows; Position::Earliest() before the first row.
  Position attempt_at_ = Position::Earliest();
  bool started_ = false;
  uint64_t version_ = 1;
};

}  // namespace pitwall::window
