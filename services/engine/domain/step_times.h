// Steps that the ranks on one step clock have reached, with their event times ("the newest event
// time among the samples of its step", time-model.md, section 3) and the spread of their durations.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/position.h"

namespace pitwall::engine {

class StepTimes {
 public:
  explicit StepTimes(size_t limit) : limit_(limit) {}

  void Saw(Step step, EventTime time) {
    auto [it, fresh] = times_.try_emplace(step, Entry{time, 0});
    if (!fresh) {
      it->second.time = std::max(it->second.time, time);
      return;
    }
    // A step below the newest step does not advance the clock. It receives its predecessor's
    // ordinal.
    if (std::next(it) == times_.end()) {
      it->second.ordinal = ++count_;
    } else {
      it->second.ordinal = it == times_.begin() ? 0 : std::prev(it)->second.ordinal;
    }
    if (times_.size() > limit_) times_.erase(times_.begin());
  }

  // Returns the event time of the step. If it is unknown, returns the event time of the nearest
  // earlier known step, or of the first known step. Returns EventTime() if no step is known.
  EventTime At(Step step) const {
    auto it = times_.upper_bound(step);
    if (it == times_.begin()) return it == times_.end() ? EventTime() : it->second.time;
    return std::prev(it)->second.time;
  }
  // Returns the first known step after the given step, or the step after kMaxStep.
  Step FirstAfter(Step step) const {
    const auto it = times_.upper_bound(step);
    return it == times_.end() ? Step(kMaxStep + 1) : it->first;
  }
  // Returns the newest step, or Step::None().
  Step Newest() const { return times_.empty() ? Step::None() : times_.rbegin()->first; }

  // Number of steps that the leading rank has reached. Grows by one with each new maximum step,
  // however large the jump, and never decreases.
  uint64_t count() const { return count_; }
  // Returns the number of steps reached after `step`. For Step::None(), counts all known steps.
  uint64_t CountAfter(Step step) const {
    auto it = step == Step::None() ? times_.begin() : times_.upper_bound(step);
    if (it == times_.begin())
      return times_.empty() ? 0 : count_ + 1 - std::max<uint64_t>(1, it->second.ordinal);
    return count_ - std::prev(it)->second.ordinal;
  }

  // Returns the longest of the last 256 step durations divided by their median. Returns 1 while
  // fewer than three durations are known.
  double Spread() const {
    std::vector<Duration> gaps;
    for (auto it = times_.rbegin(); it != times_.rend() && gaps.size() < 256; ++it) {
      const auto before = std::next(it);
      if (before == times_.rend()) break;
      gaps.push_back(std::max(Duration::Zero(), it->second.time - before->second.time));
    }
    if (gaps.size() < 3) return 1;
    const Duration longest = *std::max_element(gaps.begin(), gaps.end());
    const auto middle = gaps.begin() + static_cast<int64_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    return static_cast<double>(longest.ns()) /
           static_cast<double>(std::max(Duration::Nanos(1), *middle).ns());
  }

  void Clear() { times_.clear(); }
  void Save(BinaryWriter& out) const {
    out.U64(times_.size());
    for (const auto& [step, entry] : times_) {
      out.I64(step.value());
      out.I64(entry.time.ns());
    }
    out.U64(count_);
    for (const auto& [step, entry] : times_) out.U64(entry.ordinal);
  }
  // `ordinals` is false for snapshots in format 6, which have no ordinals. Each step then counts
  // once.
  void Restore(BinaryReader& in, bool ordinals) {
    times_.clear();
    count_ = 0;
    for (size_t n = in.Count(2); n > 0; --n) {
      const Step step(in.I64());
      const EventTime time = EventTime::FromNs(in.I64());
      times_[step] = {time, ++count_};
    }
    if (!ordinals) return;
    count_ = in.U64();
    for (auto& [step, entry] : times_) entry.ordinal = in.U64();
  }

 private:
  struct Entry {
    EventTime time;
    uint64_t ordinal = 0;  // Value of count_ when the step was first reached.
  };
  size_t limit_;
  uint64_t count_ = 0;
  std::map<Step, Entry> times_;
};

}  // namespace pitwall::engine
