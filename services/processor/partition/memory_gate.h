// Memory accounting for a partition's jobs. Pauses reading while the process's budget is exhausted
// (docs/decisions/0023-limit-memory-per-job-and-process.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "services/base/clock.h"
#include "services/base/system/memory_budget.h"
#include "services/base/time.h"
#include "services/engine/shard.h"

namespace pitwall::processor {

// Memory account of one partition. Not thread-safe.
class MemoryGate {
 public:
  // If `budget` is null, reading never pauses. Both pointers must outlive this object.
  MemoryGate(int32_t partition, Clock* clock, MemoryBudget* budget);

  // Counts input bytes. A large amount makes the next measurement due early.
  void AddInput(size_t bytes) { uncounted_bytes_ += bytes; }
  // Measures the memory use of all jobs. The measurement visits every pane, so it runs only
  // periodically and after large inputs.
  void Measure(const engine::Shard& shard);

  // Returns true if the partition must not read now.
  bool MustPause() const { return account_ != nullptr && account_->MustPause(); }
  // Pauses reading and logs the reason. Returns false if reading is already paused.
  bool Pause();
  // Resumes reading if it is paused.
  void Resume();
  void Wait(Duration timeout) { wakeup_->Wait(timeout.ns()); }

  bool paused() const { return paused_; }
  // Returns the reason for the pause. Must not be called unless reading is paused.
  std::string WhyPaused() const { return account_->WhyPaused(); }
  // Returns the memory use of all jobs at the last measurement.
  size_t bytes() const { return bytes_; }

 private:
  const int32_t partition_;
  Clock* const clock_;
  std::unique_ptr<MemoryBudget::Account> account_;
  std::unique_ptr<Wakeup> wakeup_;
  MonotonicTime measure_at_;
  size_t uncounted_bytes_ = 0;  // input bytes since the last memory measurement
  size_t bytes_ = 0;
  bool paused_ = false;
};

}  // namespace pitwall::processor
