// Step modes of one rank, such as "train" and "eval".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "services/codec/steps/series_names.h"
#include "services/model/telemetry.h"

namespace pitwall::steps {

struct StepMode {
  std::string name;
  int64_t open_step = kNoStep;  // running step according to SetCurrent
  int64_t closed_step = kNoStep;
  int64_t closed_end_ns = INT64_MIN;
  std::vector<bool> phases;  // phases that a step of this mode has had
};

// At most kMaxModes modes, numbered from 0 in order of first appearance. Names stay valid for the
// lifetime of the object. Not thread-safe.
class StepModes {
 public:
  static constexpr size_t kMaxModes = 64;

  // Returns the mode's number, or -1 if the mode is unknown. "" means "train".
  int Find(std::string_view name) const {
    if (name.empty()) name = "train";
    for (size_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }
  // Returns the mode's number, and adds the mode if it is new. Returns -1 if the name is invalid or
  // the limit is reached.
  int FindOrAdd(std::string_view name) {
    const int mode = Find(name);
    if (name.empty()) name = "train";
    if (mode >= 0 || modes_.size() >= kMaxModes || !IsName(name)) return mode;
    modes_.emplace_back().name = std::string(name);
    return static_cast<int>(modes_.size()) - 1;
  }
  StepMode& At(int mode) { return modes_[static_cast<size_t>(mode)]; }
  // Records that no step is running.
  void StopAll() {
    for (StepMode& mode : modes_) mode.open_step = kNoStep;
  }

  // Adds the mode to used().
  void Use(int mode) {
    const std::string& name = At(mode).name;
    const auto at = std::lower_bound(used_.begin(), used_.end(), name);
    if (at == used_.end() || *at != name) used_.insert(at, name);
  }
  // Returns the names of the modes for which Use was called, sorted.
  const std::vector<std::string>& used() const { return used_; }

 private:
  std::deque<StepMode> modes_;  // a deque, because frames point at the names
  std::vector<std::string> used_;
};

}  // namespace pitwall::steps
