// Sorter that orders the samples of any number of series and inputs by time. Samples that exceed a
// memory limit are stored in a temporary file, because a recording may be larger than the available
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/model/position.h"

namespace pitwall::offline {

struct TimedSample {
  int64_t time_ns = 0;
  double value = 0;
  int64_t step = kNoStep;
  uint32_t series = 0;
  uint32_t line = 0;  // line number in the input, used in messages
};

// Memory usage is up to `memory_samples` samples of 32 bytes until Finish, and then one buffer of
// kRunBuffer samples per run on disk. Not thread-safe.
class SampleSorter {
 public:
  static constexpr size_t kMemorySamples = size_t{3} << 20;  // 96 MiB
  static constexpr size_t kRunBuffer = 4096;

  // The temporary file is created on demand in $TMPDIR or /tmp, and is unlinked immediately.
  explicit SampleSorter(size_t memory_samples = kMemorySamples);
  ~SampleSorter();
  SampleSorter(const SampleSorter&) = delete;
  SampleSorter& operator=(const SampleSorter&) = delete;

  // Adds a sample. Returns ResourceExhausted if the disk is full.
  Status Add(const TimedSample& sample);
  // Ends the input. Do not call Add afterward.
  Status Finish();
  // Returns the next sample in (time, series, line) order, or false at the end.
  StatusOr<bool> Next(TimedSample* sample);

  size_t runs_on_disk() const { return runs_.size(); }

 private:
  struct Run {
    uint64_t next = 0;  // offset in the temporary file, in samples
    uint64_t end = 0;
    std::vector<TimedSample> buffer;
    size_t at = 0;
  };

  Status Spill();
  Status Refill(Run* run);

  const size_t memory_samples_;
  std::vector<TimedSample> memory_;
  size_t next_in_memory_ = 0;
  int file_ = -1;
  uint64_t written_ = 0;
  std::vector<Run> runs_;
  // Heap of indexes into runs_, with the run containing the earliest sample on top.
  std::vector<size_t> heap_;
};

}  // namespace pitwall::offline
