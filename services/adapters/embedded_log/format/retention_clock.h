// Wall time accepted for retention, kept in a file across restarts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/system/age_clock.h"

namespace pitwall::log {

// Wall time accepted for retention. After a restart, it continues from the time in the file
// <dir>/retention-time. Not thread-safe: guarded by the maintenance lock. Borrows the clock.
class RetentionClock {
 public:
  // Reads the last wall time accepted for retention. If the log has records but the file contains
  // no time, no wall time is accepted for a day.
  static StatusOr<RetentionClock> Load(const std::string& dir, bool has_records, Clock* clock);

  // Returns the wall time accepted for deletions, or nothing if no data may currently be deleted by
  // age. Saves the time every ten minutes.
  std::optional<int64_t> AcceptedTime();
  // Returns true while the wall clock is ahead and its time is rejected.
  bool suspended() const { return suspended_; }

 private:
  RetentionClock(std::string path, Clock* clock) : path_(std::move(path)), clock_(clock) {}

  std::string path_;
  Clock* clock_;
  AgeClock age_clock_;
  std::optional<int64_t> saved_age_ns_;  // value in the file
  bool suspended_ = false;
};

}  // namespace pitwall::log
