// Telemetry that a rank's client collects between two flushes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/codec/steps/step_series.h"
#include "services/loadgen/training.h"
#include "services/model/telemetry.h"

namespace pitwall::loadgen {

inline constexpr std::string_view kTrainMode = "train";

struct RankNews {
  std::vector<Span> spans;
  std::vector<steps::LoggedValue> values;
  std::string_view phase;  // current phase, or "" between phases
  int64_t phase_since_ns = 0;
  int64_t step = kNoStep;  // current step
  int64_t below_step = 0;  // the client sends no more data for steps below this number
};

// `training` must outlive this object. Not thread-safe.
class RankWalk {
 public:
  RankWalk(const LoadPlan& plan, uint64_t seed, Training* training, int64_t rank)
      : plan_(plan), seed_(seed), training_(training), rank_(rank) {}

  // Replaces *news with all spans, values, and steps that ended at or before `until_ns` and that no
  // earlier call returned.
  void Take(int64_t until_ns, RankNews* news);

 private:
  void Log(const RankStep& step, int64_t number, std::vector<steps::LoggedValue>* values) const;

  const LoadPlan& plan_;
  const uint64_t seed_;
  Training* const training_;
  const int64_t rank_;
  size_t phase_ = 0;  // first phase of the current step that has not been returned yet
  int64_t last_end_ns_ = 0;
};

}  // namespace pitwall::loadgen
