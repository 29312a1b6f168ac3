#include "services/loadgen/nodes/process_series.h"

#include <algorithm>
#include <cmath>

#include "services/base/text/strings.h"
#include "services/loadgen/noise.h"
#include "services/model/value.h"

namespace pitwall::loadgen {
namespace {

constexpr SeriesKind kGauge = SeriesKind::kGauge;
constexpr SeriesKind kCounter = SeriesKind::kCounter;

}  // namespace

void ProcessSeries::Describe() {
  std::vector<SeriesDescriptor> out;
  for (int64_t rank : ranks_) {
    out.push_back(stream_.Series(kCounter, "process_cpu_seconds_total", {{"rank", Cat(rank)}}));
    out.push_back(stream_.Series(kGauge, "process_memory_usage_bytes", {{"rank", Cat(rank)}}));
  }
  stream_.SetSchema(std::move(out));
}

void ProcessSeries::Sample(const NodeTick& tick, const NodeMood& mood) {
  std::vector<double>& row = stream_.values();
  if (!std::equal(mood.ranks.begin(), mood.ranks.end(), ranks_.begin(), ranks_.end())) {
    row.clear();  // the existing rows belong to the previous set of ranks
    ranks_.assign(mood.ranks.begin(), mood.ranks.end());
    cpu_seconds_.assign(ranks_.size(), 40);
    Describe();
    row.resize(tick.past_rows * 2 * ranks_.size(), MissingValue());
  }
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const uint64_t bits = Mix(seed_, 0x9000 + static_cast<uint64_t>(ranks_[i]), tick.number);
    // A training rank uses more than one core. A hanging rank is almost idle.
    const double share = mood.working ? 1.1 + 0.03 * Bell(bits) : 0.02;
    cpu_seconds_[i] = std::round((cpu_seconds_[i] + tick.seconds * share) * 100) / 100;
    row.push_back(cpu_seconds_[i]);
    row.push_back(Pages(kRankBytes * (1 + 0.002 * Bell(Mix(bits))) + mood.leaked_bytes[i]));
  }
}

}  // namespace pitwall::loadgen
