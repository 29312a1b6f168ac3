// Sample data for the benchmarks. An integer formula lets other programs generate the same samples
// (prometheus/data.go does; both print a checksum). architecture.md, section 6: 8 sources, each
// with one row of all its series per second.
//
//   realistic  phase offsets of 100 ms between sources; 2% missing; one series in a hundred is high
//     for 20 s (1% of alerts pending); 0.1% of the series are replaced each minute.
//   noise      the same phases and gaps; white noise, so that a different 1% of the series are
//     high in each second, and alerts constantly start and end.
//   dense      the best case: the same times for all sources, with no missing or high values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "services/base/text/strings.h"
#include "services/model/labels.h"
#include "services/model/value.h"

namespace pitwall::bench {

enum class DataKind { kRealistic, kNoise, kDense };
inline constexpr int kSources = 8;
inline constexpr int64_t kBase = 1'767'225'600'000'000'000;  // ns; a multiple of a minute

inline uint64_t Mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class BenchData {
 public:
  BenchData(DataKind kind, int series)
      : kind_(kind), generations_(static_cast<size_t>(series)), values_(generations_.size()) {}

  // Returns the values at second `t` by series. Must be called in time order. A replaced series has
  // a stale marker in this second, and its successor starts in the next one.
  const std::vector<double>& Second(int t) {
    for (const size_t i : replaced_) ++generations_[i];
    replaced_.clear();
    const auto second = static_cast<uint64_t>(t);
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = Value(i, second);
    const size_t n = generations_.size();
    if (kind_ == DataKind::kRealistic && t % 60 == 30) {
      for (uint64_t k = 0; k < std::max<size_t>(1, n / 1000); ++k) {
        const size_t i = Mix(second * 1000 + k) % n;
        if (IsStale(values_[i])) continue;
        values_[i] = StaleMarker();
        replaced_.push_back(i);
      }
    }
    for (const double v : values_) checksum_ = Mix(checksum_ ^ std::bit_cast<uint64_t>(v));
    return values_;
  }
  // Returns true if the second after Second() has a different set of series.
  bool Replaces() const { return !replaced_.empty(); }
  uint64_t checksum() const { return checksum_; }

  static int SourceOf(size_t i) { return static_cast<int>(i) % kSources; }
  int64_t TimeOf(int source, int t) const {
    const int64_t phase = kind_ == DataKind::kDense ? 0 : source * int64_t{100'000'000};
    return kBase + t * int64_t{1'000'000'000} + phase;
  }
  // Returns the labels of series `i` at the current Second().
  Labels LabelsOf(size_t i) const {
    std::string gpu = Cat(i / kSources);
    if (generations_[i] > 0) gpu += Cat("-", generations_[i]);
    return Labels({{kMetricName, "m"}, {"node", Cat(SourceOf(i))}, {"gpu", gpu}});
  }

 private:
  double Value(size_t i, uint64_t t) const {
    const uint64_t r = Mix(Mix(i) ^ t);
    const uint64_t u = r >> 32;
    if (kind_ != DataKind::kDense && r % 50 == 0) return MissingValue();
    if (kind_ == DataKind::kNoise) return static_cast<double>(u % 1000) / 1000;
    if (kind_ == DataKind::kRealistic && Mix(Mix(i + 1'000'003) ^ ((t + i % 20) / 20)) % 100 == 0)
      return 0.996 + static_cast<double>(u % 4) / 1000;
    return static_cast<double>(u % 990) / 1000;
  }

  DataKind kind_;
  std::vector<int> generations_;
  std::vector<double> values_;
  std::vector<size_t> replaced_;
  uint64_t checksum_ = 0;
};

}  // namespace pitwall::bench
