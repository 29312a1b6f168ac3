// Frozen summary of a finished job: the results of its recording rules named summary:*, as the text
// that rules/plan/baseline.h parses. On the step clock each value is kept at its step, where a
// later attempt or a fallback of the step overwrites repeated steps. On the time clock, and for
// summary:run:*, the last value represents the whole run.
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
// Limit for the summarized job; more samples are an error.
inline constexpr size_t kMaxSummaryPoints = 8'000'000;

struct SummaryOptions {
  std::string run;                                         // "": the job ID
  std::vector<std::pair<std::string, std::string>> match;  // empty: the job's name and config_hash
  // Keeps every 2nd, 4th, 8th, … point of the series with the most points until the text has at
  // most this size.
  size_t max_bytes = size_t{64} << 10;
};

class Summary final : public engine::RecordingObserver {
 public:
  // The job to summarize; "": the only job.
  explicit Summary(std::string job) : job_(std::move(job)) {}

  void Recorded(const engine::JobIdentity& job, const ClockSpec& clock, const EvalTime& at,
                const Labels& labels, double value) override;

  // NotFound: nothing was recorded. InvalidArgument: there are several jobs, and none was named.
  // ResourceExhausted: too many points, or the series alone exceed the limit.
  StatusOr<std::string> Text(const SummaryOptions& options) const;

 private:
  using Points = std::map<int64_t, double>;  // by step

  // With at most `most` points per series.
  std::string Body(size_t most) const;

  const std::string job_;
  std::string id_, other_, name_;  // other_: a second job with recorded series
  std::vector<Label> labels_;
  int64_t ended_ = kMinPosition;  // event time of the last recorded sample
  size_t points_ = 0;
  std::map<std::pair<std::string, Labels>, Points> steps_;  // by mode and series
  std::map<Labels, double> values_;
};

}  // namespace pitwall::offline
