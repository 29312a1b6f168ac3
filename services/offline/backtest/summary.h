// Frozen summary of a finished job: the results of the recording rules named summary:*, in the text
// format that rules/plan/baseline.h parses. On the step clock, each value is stored at its step. If
// a later attempt or a fallback repeats a step, its value overwrites the earlier one. On the time
// clock, and for summary:run:*, the last value represents the whole run.
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
// Maximum number of points for the summarized job. Exceeding the limit is an error.
inline constexpr size_t kMaxSummaryPoints = 8'000'000;

struct SummaryOptions {
  std::string run;                                         // "" for the job ID
  std::vector<std::pair<std::string, std::string>> match;  // default: job name and config_hash
  // Maximum size of the text. If the text is larger, the longest series keep only every 2nd, 4th,
  // 8th, … point until the text fits.
  size_t max_bytes = size_t{64} << 10;
};

class Summary final : public engine::RecordingObserver {
 public:
  // `job` is the ID of the job to summarize, or "" for the only job.
  explicit Summary(std::string job) : job_(std::move(job)) {}

  void Recorded(const engine::JobIdentity& job, const ClockSpec& clock, const EvalTime& at,
                const Labels& labels, double value) override;

  // Returns the summary. Returns NotFound if no results were recorded, and InvalidArgument if there
  // are several jobs but no job was specified. Returns ResourceExhausted if there are too many
  // points, or if the text exceeds the size limit even with one point per series.
  StatusOr<std::string> Text(const SummaryOptions& options) const;

 private:
  using Points = std::map<int64_t, double>;  // by step

  // Returns the body of the summary, with at most `most` points per series.
  std::string Body(size_t most) const;

  const std::string job_;
  std::string id_, other_, name_;  // other_ is a second job that has recorded series
  std::vector<Label> labels_;
  int64_t ended_ = kMinPosition;  // event time of the last recorded sample
  size_t points_ = 0;
  std::map<std::pair<std::string, Labels>, Points> steps_;  // by mode and series
  std::map<Labels, double> values_;
};

}  // namespace pitwall::offline
