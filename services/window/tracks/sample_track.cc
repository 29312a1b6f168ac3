#include "services/window/tracks/sample_track.h"

#include <algorithm>
#include <cmath>

#include "services/model/value.h"
#include "services/window/functions/block_quantile.h"
#include "services/window/functions/bucket_counts.h"
#include "services/window/functions/longest_run.h"
#include "services/window/functions/order_statistics.h"
#include "services/window/functions/outlier_count.h"
#include "services/window/functions/outlier_period.h"
#include "services/window/functions/period_detector.h"
#include "services/window/functions/trend.h"
#include "services/window/kernels/family.h"
#include "services/window/kernels/row.h"

namespace pitwall::window {
namespace {

// Implements double_exponential_smoothing as in Prometheus (Holt's method).
bool Smooth(std::span<const double> values, double smoothing, double trend, double* out) {
  if (!(smoothing > 0 && smoothing < 1 && trend > 0 && trend < 1)) {
    *out = NormalNan();  // the caller reports the error
    return true;
  }
  if (values.size() < 2) return false;
  double before = 0, now = values[0], slope = values[1] - values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (i > 1) slope = trend * (now - before) + (1 - trend) * slope;
    const double next = smoothing * values[i] + (1 - smoothing) * (now + slope);
    before = now;
    now = next;
  }
  *out = now;
  return true;
}

// Computes the result with the family's kernels on a single column.
bool ByPartials(const FunctionPlan& plan, std::span<const int64_t> positions,
                std::span<const double> values, const ReadContext& context, double* out) {
  const FamilyOps& ops = OpsOf(plan.family);
  double empty[RowPool::kMaxFields], a[RowPool::kMaxFields], b[RowPool::kMaxFields];
  std::fill_n(empty, RowPool::kMaxFields, ops.fields <= 2 ? MissingValue() : 0.0);
  std::copy_n(empty, RowPool::kMaxFields, a);
  double* from = a;
  double* to = b;
  for (size_t i = 0; i < values.size(); ++i) {
    ops.append(to, from, &values[i], &positions[i], 1, 1, true);
    std::swap(from, to);
  }
  uint8_t present = 0;
  plan.finish(from, empty, 1, 1, context, out, &present);
  return present != 0;
}

}  // namespace

bool ValueOfSamples(WindowFunction function, std::span<const int64_t> positions,
                    std::span<const double> values, Position range_start, Position range_end,
                    Position tick, std::span<const double> arguments, double* value) {
  const double first = arguments.empty() ? 0 : arguments[0];
  switch (function) {
    case WindowFunction::kSmoothing:
      return Smooth(values, first, arguments.size() > 1 ? arguments[1] : 0, value);
    case WindowFunction::kQuantile:
    case WindowFunction::kSketchQuantile:  // the quantile is exact, because all samples are
                                           // available
      *value = QuantileOf(values, first);
      return true;
    case WindowFunction::kMad:
      *value = MadOf(values);
      return true;
    case WindowFunction::kOutlierPeriod:
      return OutlierPeriod(positions, values, first, value);
    case WindowFunction::kEventPeriod:
      return EventPeriod(values, first, value);
    case WindowFunction::kOutliers:
      return CountOutliers(values, first, value);
    case WindowFunction::kRobustDeriv:
      return TheilSenSlope(positions, values, value);
    case WindowFunction::kKendallTau:
      return KendallTau(values, value);
    case WindowFunction::kHistogram:
      CountBuckets(values, arguments, value);
      return true;
    case WindowFunction::kBlockQuantile:
      return BlockQuantile(values, arguments, value);
    case WindowFunction::kLongestRun:
      return LongestRun(values, value);
    case WindowFunction::kLast:
    case WindowFunction::kTimestamp:
    case WindowFunction::kShare:
      return false;  // these functions do not use sample windows
#define PITWALL_WINDOW_OF_PARTIALS(id, ...) case WindowFunction::id:
#include "services/model/windows/functions.inc"
      {
        const ReadContext context{range_start.ns(), range_end.ns(),
                                  static_cast<double>((range_end - range_start).ns()) / 1e9,
                                  tick.ns()};
        return ByPartials(*PlanOf(WindowKind::kTime, function), positions, values, context, value);
      }
  }
  return false;
}

void SampleTrack::ForgetDemands() {
  keep_time_ = keep_offset_ = Duration();
  keep_samples_ = 0;
}

void SampleTrack::AddDemand(const Demand& demand) {
  if (demand.kind == WindowKind::kSamples) {
    keep_samples_ = std::max(keep_samples_, static_cast<uint32_t>(demand.range));
    keep_offset_ = std::max(keep_offset_, Duration::Nanos(demand.offset));
  } else {
    keep_time_ = std::max(keep_time_, Duration::Nanos(demand.range + demand.offset));
  }
}

void SampleTrack::SetColumns(size_t columns) {
  if (columns > columns_.size()) columns_.resize(columns);
}

void SampleTrack::Scatter(Position position, std::span<const uint32_t> cells,
                          std::span<const uint32_t> columns, const double* values) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const double value = values[cells[i]];
    if (IsMissing(value)) continue;
    Samples& samples = columns_[columns[i]];
    samples.list.push_back({position, value});
    if (samples.list.size() >= samples.limit) Shrink(&samples, position);
  }
}

// Drops samples that are before every window that ends at or after `position` minus its offset.
// Called when a list has doubled, so the amortized cost per sample does not depend on how far the
// windows look back.
void SampleTrack::Shrink(Samples* samples, Position position) const {
  std::vector<Sample>& list = samples->list;
  size_t first = list.size();
  uint32_t counted = 0;  // samples that every [N samples] window contains or may still need
  while (first > 0) {
    const Sample& sample = list[first - 1];
    if (sample.position <= position - keep_time_ && counted >= keep_samples_) break;
    if (!IsStale(sample.value) && sample.position <= position - keep_offset_) ++counted;
    --first;
  }
  // A window with max_samples_ samples is always complete. The list may be a quarter longer to
  // avoid shifting a full list with every sample.
  const size_t most = max_samples_ + max_samples_ / 4;
  if (list.size() - first >= most) {
    first = list.size() - max_samples_;
    samples->lost = list[first - 1].position;
  }
  list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(first));
  samples->limit = static_cast<uint32_t>(std::min(most, std::max<size_t>(64, 2 * list.size())));
}

void SampleTrack::Read(const Demand& demand, Position tick, Position after,
                       std::span<const double> arguments, double* values, uint8_t* present) {
  incomplete_ = false;
  const Position end = tick - Duration::Nanos(demand.offset);
  const Duration range = Duration::Nanos(demand.range), lookback = Duration::Nanos(demand.lookback);
  const bool counted = demand.kind == WindowKind::kSamples;
  const auto wanted = static_cast<size_t>(demand.range);
  const size_t width = ValuesPerSeries(demand.function, arguments.size());
  // Number of newest values that suffice for the window. 0 means that all values are needed.
  const size_t newest_numbers =
      demand.function == WindowFunction::kBlockQuantile ? BlockDemand(arguments).newest() : 0;
  std::vector<int64_t>& positions = positions_;
  std::vector<double>& window = window_;
  for (size_t c = 0; c < columns_.size(); ++c) {
    present[c] = 0;
    const std::vector<Sample>& all = columns_[c].list;
    size_t to = all.size();
    while (to > 0 && all[to - 1].position > end) --to;
    if (to == 0) continue;
    Position start = end - range;
    if (counted) {
      start = Position::Earliest();
      const Sample& newest = all[to - 1];
      if (IsStale(newest.value) || newest.position <= end - lookback) continue;
    }
    start = std::max(start, after);
    positions.clear();
    window.clear();
    size_t numbers = 0;
    for (size_t i = to; i-- > 0 && all[i].position > start;) {
      // Samples before the series disappeared are not part of the window and may have been dropped.
      if (counted && (IsStale(all[i].value) ||
                      (i + 1 < to && all[i].position <= all[i + 1].position - lookback))) {
        break;
      }
      if (IsStale(all[i].value)) continue;
      positions.push_back(all[i].position.ns());
      window.push_back(all[i].value);
      numbers += std::isnan(all[i].value) ? 0 : 1;
      if ((counted && window.size() == wanted) || (newest_numbers > 0 && numbers == newest_numbers))
        break;
    }
    const bool whole =
        (counted && window.size() == wanted) || (newest_numbers > 0 && numbers == newest_numbers);
    if (window.size() > max_samples_ || (columns_[c].lost > start && !whole)) {
      incomplete_ = true;
      continue;
    }
    if (window.empty()) continue;
    std::reverse(positions.begin(), positions.end());
    std::reverse(window.begin(), window.end());
    // An [N samples] window extends from its first sample to its last, so nothing is extrapolated.
    const Position range_start = counted ? Position::FromNs(positions.front()) : end - range;
    const Position range_end = counted ? Position::FromNs(positions.back()) : end;
    double* const value = values + c * width;
    if (!ValueOfSamples(demand.function, positions, window, range_start, range_end, tick, arguments,
                        value)) {
      continue;
    }
    present[c] = 1;
    for (size_t k = 0; k < width; ++k) value[k] = std::isnan(value[k]) ? NormalNan() : value[k];
  }
}

void SampleTrack::Remap(const std::vector<uint32_t>& keep) { KeepColumns(keep, &columns_); }

// `after` is ignored, because each read passes the position after which samples count.
void SampleTrack::Restart(Position /*after*/) {
  for (Samples& samples : columns_) samples = Samples();
}

void SampleTrack::Save(BinaryWriter& out) const {
  out.U64(columns_.size());
  for (const Samples& samples : columns_) {
    out.I64(samples.lost.ns());
    out.U64(samples.limit);
    out.U64(samples.list.size());
    for (const Sample& sample : samples.list) {
      out.I64(sample.position.ns());
      out.Double(sample.value);
    }
  }
}

void SampleTrack::Load(BinaryReader& in, size_t columns) {
  LoadColumnCount(in, 2, columns, &columns_);
  for (size_t c = 0; c < columns_.size() && in.ok(); ++c) {
    columns_[c].lost = Position::FromNs(in.I64());
    const uint64_t limit = in.U64();
    const size_t samples = in.Count(9);
    // Shrink maintains these bounds. A list that exceeded its limit would never shrink again.
    if (limit < 1 || limit > std::max<uint64_t>(64, max_samples_ + max_samples_ / 4) ||
        samples > limit)
      in.Fail();
    columns_[c].limit = static_cast<uint32_t>(limit);
    for (size_t i = 0; i < samples && in.ok(); ++i) {
      const Position position = Position::FromNs(in.I64());
      columns_[c].list.push_back({position, in.Double()});
      const size_t last = columns_[c].list.size() - 1;
      if (last > 0 && columns_[c].list[last - 1].position >= position) in.Fail();
    }
  }
}

size_t SampleTrack::MemoryBytes() const {
  size_t bytes = columns_.capacity() * sizeof(Samples);
  for (const Samples& samples : columns_) bytes += samples.list.capacity() * sizeof(Sample);
  return bytes;
}

}  // namespace pitwall::window
