// The frozen summary of a finished job: what its recording rules named summary:* wrote, as the text
// that rules/plan/baseline.h reads. On the step clock each value is kept at its step, where a later
// attempt or a fall of the step overwrites what it repeats. On the time clock, and of
// summary:run:*, the last value counts for the whole run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/engine/domain/recordings.h"
#include "services/model/labels.h"
#include "services/model/position.h"

namespace pitwall::offline {

inline constexpr std::string_view kSummaryPrefix = "summary:";
inline constexpr std::string_view kSummaryOfRun = "summary:run:";
// Of the job that is kept. More is an error, not a sample.
inline constexpr size_t kMaxSummaryPoints = 8'000'000;

struct SummaryOptions {
  std::string run;                                         // "": the job's id
  std::vector<std::pair<std::string, std::string>> match;  // empty: the job's name, and config_hash
  // Of the series with the most points every 2nd, 4th, 8th … is kept until the text is no longer
  // than this.
  size_t max_bytes = size_t{64} << 10;
};

class Summary final : public engine::RecordingObserver {
 public:
  // Of this job; "": of the only one.
  explicit Summary(std::string job) : job_(std::move(job)) {}

  void Recorded(const engine::JobIdentity& job, const ClockSpec& clock,
                const engine::TickContext& at, const Labels& labels, double value) override;

  // NotFound: nothing was recorded; InvalidArgument: several jobs and none was named;
  // ResourceExhausted: too many points, or the series alone are too long.
  StatusOr<std::string> Text(const SummaryOptions& options) const;

 private:
  using Points = std::map<int64_t, double>;  // by step

  // With no more than `most` points a series.
  std::string Body(size_t most) const;

  const std::string job_;
  std::string id_, other_, name_;  // other_: a second job that recorded something
  std::vector<Label> labels_;
  int64_t ended_ = kMinPosition;  // event time of what was recorded last
  size_t points_ = 0;
  std::map<std::pair<std::string, Labels>, Points> steps_;  // by mode and series
  std::map<Labels, double> values_;
};

}  // namespace pitwall::offline
