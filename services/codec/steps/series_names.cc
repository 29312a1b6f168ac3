#include "services/codec/steps/series_names.h"

#include "services/base/terminal.h"

namespace pitwall::steps {
namespace {

constexpr size_t kMaxNameBytes = 1024;  // same limit as in telemetry_codec.h

}  // namespace

bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes) return false;
  return !HasControl(text);
}

bool IsReserved(std::string_view metric) {
  return metric == "train_step" || metric == "train_world_size" ||
         metric == "train_step_duration_seconds" || metric == "train_phase_duration_seconds" ||
         metric == "train_phase_state";
}

Labels RankSeries(std::string_view metric, std::string_view rank) {
  return Labels({{kMetricName, metric}, {"rank", rank}});
}

}  // namespace pitwall::steps
