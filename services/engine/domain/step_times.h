// Steps that the ranks of one step clock have reached, with their event times ("the newest event
// time among the samples of its step", time-model.md, section 3) and the spread of their durations.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "services/base/binary.h"
#include "services/model/position.h"

namespace pitwall::engine {

class StepTimes {
 public:
  explicit StepTimes(size_t limit) : limit_(limit) {}

  void Saw(int64_t step, int64_t time_ns) {
    auto [it, fresh] = times_.try_emplace(step, Entry{time_ns, 0});
    if (!fresh) {
      it->second.time_ns = std::max(it->second.time_ns, time_ns);
      return;
    }
    // A step below the newest step does not advance the clock. It gets the ordinal of its
    // predecessor.
    if (std::next(it) == times_.end()) {
      it->second.ordinal = ++count_;
    } else {
      it->second.ordinal = it == times_.begin() ? 0 : std::prev(it)->second.ordinal;
    }
    if (times_.size() > limit_) times_.erase(times_.begin());
  }

  // Returns the event time of the step if known. Otherwise, returns that of the nearest earlier
  // known step, or of the first known step. Returns 0 if no step is known.
  int64_t At(int64_t step) const {
    auto it = times_.upper_bound(step);
    if (it == times_.begin()) return it == times_.end() ? 0 : it->second.time_ns;
    return std::prev(it)->second.time_ns;
  }
  // Returns the first known step after that step, or kMaxStep + 1.
  int64_t FirstAfter(int64_t step) const {
    const auto it = times_.upper_bound(step);
    return it == times_.end() ? kMaxStep + 1 : it->first;
  }
  // Returns the newest step, or kNoStep.
  int64_t Newest() const { return times_.empty() ? kNoStep : times_.rbegin()->first; }

  // Number of steps that the leading rank has reached. Grows by one with each new maximum step,
  // regardless of the step's distance, and never decreases.
  uint64_t count() const { return count_; }
  // Returns the number of steps reached after `step`. kNoStep counts all known steps.
  uint64_t CountAfter(int64_t step) const {
    auto it = step == kNoStep ? times_.begin() : times_.upper_bound(step);
    if (it == times_.begin())
      return times_.empty() ? 0 : count_ + 1 - std::max<uint64_t>(1, it->second.ordinal);
    return count_ - std::prev(it)->second.ordinal;
  }

  // Returns the longest of the last 256 step durations divided by their median. Returns 1 while
  // fewer than three durations are known.
  double Spread() const {
    std::vector<int64_t> gaps;
    for (auto it = times_.rbegin(); it != times_.rend() && gaps.size() < 256; ++it) {
      const auto before = std::next(it);
      if (before == times_.rend()) break;
      gaps.push_back(std::max<int64_t>(0, it->second.time_ns - before->second.time_ns));
    }
    if (gaps.size() < 3) return 1;
    const int64_t longest = *std::max_element(gaps.begin(), gaps.end());
    const auto middle = gaps.begin() + static_cast<int64_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    return static_cast<double>(longest) / static_cast<double>(std::max<int64_t>(1, *middle));
  }

  void Clear() { times_.clear(); }
  void Save(BinaryWriter& out) const {
    out.U64(times_.size());
    for (const auto& [step, entry] : times_) {
      out.I64(step);
      out.I64(entry.time_ns);
    }
    out.U64(count_);
    for (const auto& [step, entry] : times_) out.U64(entry.ordinal);
  }
  // `ordinals` is false for snapshots of format 6, which do not contain ordinals. Each step then
  // counts once.
  void Restore(BinaryReader& in, bool ordinals) {
    times_.clear();
    count_ = 0;
    for (size_t n = in.Count(2); n > 0; --n) {
      const int64_t step = in.I64();
      const int64_t time_ns = in.I64();
      times_[step] = {time_ns, ++count_};
    }
    if (!ordinals) return;
    count_ = in.U64();
    for (auto& [step, entry] : times_) entry.ordinal = in.U64();
  }

 private:
  struct Entry {
    int64_t time_ns = 0;
    uint64_t ordinal = 0;  // Value of count_ when the step was first reached.
  };
  size_t limit_;
  uint64_t count_ = 0;
  std::map<int64_t, Entry> times_;
};

}  // namespace pitwall::engine
