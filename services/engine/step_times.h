// Event time of steps: "the newest event time among the samples of its step" (time-model.md,
// section 3).
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/container/btree_map.h"
#include "services/base/binary.h"
#include "services/model/position.h"

namespace pitwall::engine {

class StepTimes {
 public:
  explicit StepTimes(size_t limit) : limit_(limit) {}
  void Saw(int64_t step, int64_t time_ns) {
    auto [it, fresh] = times_.try_emplace(step, time_ns);
    if (!fresh) it->second = std::max(it->second, time_ns);
    if (times_.size() > limit_) times_.erase(times_.begin());
  }
  // Of that step, else of the nearest one before it, else of the first one known; 0 when none is.
  int64_t At(int64_t step) const {
    auto it = times_.upper_bound(step);
    if (it == times_.begin()) return it == times_.end() ? 0 : it->second;
    return std::prev(it)->second;
  }
  // The first step known after that one; kMaxStep + 1 when none is.
  int64_t FirstAfter(int64_t step) const {
    const auto it = times_.upper_bound(step);
    return it == times_.end() ? kMaxStep + 1 : it->first;
  }
  void Clear() { times_.clear(); }
  void Save(BinaryWriter& out) const {
    out.U64(times_.size());
    for (const auto& [step, time] : times_) {
      out.I64(step);
      out.I64(time);
    }
  }
  void Restore(BinaryReader& in) {
    times_.clear();
    for (size_t n = in.Count(2); n > 0; --n) {
      const int64_t step = in.I64();
      times_[step] = in.I64();
    }
  }

 private:
  size_t limit_;
  absl::btree_map<int64_t, int64_t> times_;
};

}  // namespace pitwall::engine
