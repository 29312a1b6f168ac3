// Positions that a store has reached, and the version of the state that a read sees.
#pragma once

#include <cstdint>

#include "services/base/binary.h"
#include "services/base/check.h"
#include "services/model/position.h"

namespace pitwall::window {

// State of the store at the time of a read.
struct ReadTime {
  int64_t tick;
  int64_t attempt_at;  // exclusive start of attempt windows
  uint64_t version;    // changes with everything that a read can see; never 0
};

// Not thread-safe. The functions are inline because every row calls them.
class StoreProgress {
 public:
  // Returns the sealed position, or kMinPosition before the first seal and after Reset().
  int64_t sealed() const { return sealed_; }
  // Returns the origin for demands with align_job.
  int64_t origin() const { return origin_; }
  // Returns a number that increases with every change that a read can see.
  uint64_t version() const { return version_; }
  // Returns the time of a read. Requires that nothing was sealed since BeginTick.
  ReadTime read_time() const {
    PITWALL_CHECK(tick_ == sealed_);
    return {tick_, attempt_at_, version_};
  }
  // Returns the position of the current tick.
  int64_t tick() const { return tick_; }

  // Sets the origin. Requires that StartSealing has not been called.
  void SetOrigin(int64_t origin) {
    PITWALL_CHECK(!started_);
    origin_ = origin;
  }
  // Fixes the origin. Call this before the rows of a seal are applied.
  void StartSealing() { started_ = true; }
  // Starts the first attempt with the row at `position`, unless an attempt has started.
  void AddRow(int64_t position) {
    if (attempt_at_ == kMinPosition) attempt_at_ = position - 1;
  }
  // Sets the sealed position.
  void FinishSealing(int64_t upto) {
    sealed_ = upto;
    ++version_;
  }
  // Starts an attempt with the samples after `after`.
  void BeginAttempt(int64_t after) {
    attempt_at_ = after;
    ++version_;
  }
  // Starts a tick. Requires tick == sealed().
  void BeginTick(int64_t tick) {
    PITWALL_CHECK(tick == sealed_);
    tick_ = tick;
  }
  // Invalidates earlier reads after a change of samples, series, or demands.
  void NoteChange() { ++version_; }
  // Returns to the positions of a new store. The origin is kept.
  void Reset() {
    sealed_ = tick_ = attempt_at_ = kMinPosition;
    ++version_;
  }

  void Save(BinaryWriter& out) const {
    out.I64(sealed_);
    out.I64(tick_);
    out.I64(origin_);
    out.I64(attempt_at_);
    out.Bool(started_);
  }
  // Fails the reader if a position is out of range. The version is not saved.
  void Load(BinaryReader& in) {
    sealed_ = in.I64();
    tick_ = in.I64();
    origin_ = in.I64();
    attempt_at_ = in.I64();
    started_ = in.Bool();
    for (const int64_t position : {sealed_, tick_, origin_, attempt_at_}) {
      if (position < kMinPosition || position > kMaxPosition) in.Fail();
    }
  }

 private:
  int64_t sealed_ = kMinPosition;
  int64_t tick_ = kMinPosition;
  int64_t origin_ = 0;
  // Exclusive start of attempt windows; kMinPosition before the first row.
  int64_t attempt_at_ = kMinPosition;
  bool started_ = false;
  uint64_t version_ = 1;
};

}  // namespace pitwall::window
