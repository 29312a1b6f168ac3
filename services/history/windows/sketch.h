// Distribution of the values of a metric: counts in bins, so that sketches of any parts of the
// samples merge to the sketch of all, to the bit. Ratios (names that end with _ratio, values from 0
// to 1) have 1,001 bins, half a thousandth of error; other values bins of a relative 1 %, as in
// DDSketch (Masson 2019).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/binary.h"

namespace pitwall::history {

// NaN is left out.
class Sketch {
 public:
  explicit Sketch(bool ratio = false) : ratio_(ratio) {}
  void Add(double value) { AddAll({&value, 1}); }
  void AddAll(std::span<const double> values);
  void Merge(const Sketch& other);
  uint64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  // `q` in [0, 1]: the value of rank floor(q * (count - 1)), to the error of its bin, within min
  // and max. NaN without values.
  double Quantile(double q) const;

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  struct Bin {
    int32_t bin;
    uint64_t count;
  };
  // Both ascend.
  void AddBins(std::span<const Bin> bins);
  // Bins sort as their values do.
  int32_t BinOf(double value) const;
  double ValueOf(int32_t bin) const;

  bool ratio_;
  uint64_t count_ = 0;
  double min_ = 0;
  double max_ = 0;
  std::vector<Bin> bins_;  // ascending
};

inline bool IsRatioName(std::string_view metric) {
  return metric.size() > 6 && metric.substr(metric.size() - 6) == "_ratio";
}

}  // namespace pitwall::history
