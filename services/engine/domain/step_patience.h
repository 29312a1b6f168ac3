// Limit, in steps, on how long a step clock waits for a rank that stops promising steps
// (time-model.md 3.2). Depends only on the records in the log.
#pragma once

#include <algorithm>
#include <cstdint>

#include "services/base/binary.h"
#include "services/engine/domain/step_times.h"

namespace pitwall::engine {

class StepPatience {
 public:
  static constexpr uint64_t kFewest = 16;
  static constexpr uint64_t kMost = 1024;

  // Records that a rank on the clock has promised a step. `steps` is the number of new steps that
  // the leading rank has reached since the rank's previous promise. Batches cover up to a second,
  // so one promise covers many fast steps.
  void Promised(uint64_t steps) {
    hop_ = std::max<uint64_t>(hop_ - (hop_ + 15) / 16, std::min(steps, kMost));
  }

  // Returns the number of steps without a promise after which a rank leaves the clock. The limit
  // allows for four times the longest step and four times the usual promise interval.
  uint64_t Steps(const StepTimes& times) const {
    const double longest = std::min(4 * times.Spread(), static_cast<double>(kMost));
    return std::clamp(std::max(static_cast<uint64_t>(longest), 4 * hop_), kFewest, kMost);
  }
  // Returns the number of steps behind the leading rank after which a rank leaves even if it still
  // sends promises. If it stayed, the clock would fall further and further behind, and rows from
  // the other ranks would accumulate without bound.
  uint64_t Distance(const StepTimes& times) const { return 2 * Steps(times); }

  void Save(BinaryWriter& out) const { out.U64(hop_); }
  void Restore(BinaryReader& in) { hop_ = std::min(in.U64(), kMost); }

 private:
  uint64_t hop_ = 0;
};

}  // namespace pitwall::engine
