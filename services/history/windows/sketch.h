// Distribution of a metric's values as counts in bins. Merged sketches of parts are therefore
// bit-identical to the sketch of all samples. Ratios (names that end with _ratio, values from 0 to
// 1) have 1,001 bins with an error of 0.0005. Other values have bins with a relative error of 1%,
// as in DDSketch (Masson 2019).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/binary.h"

namespace pitwall::history {

// Sketch of a distribution. NaN is ignored.
class Sketch {
 public:
  explicit Sketch(bool ratio = false) : ratio_(ratio) {}
  void Add(double value) { AddAll({&value, 1}); }
  void AddAll(std::span<const double> values);
  void Merge(const Sketch& other);
  uint64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  // Returns the value of rank floor(q * (count - 1)). The value is accurate to within its bin's
  // error and is between min and max. `q` must be in [0, 1]. Returns NaN if there are no values.
  double Quantile(double q) const;

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

 private:
  struct Bin {
    int32_t bin;
    uint64_t count;
  };
  // Adds bins in ascending order.
  void AddBins(std::span<const Bin> bins);
  // Returns the bin of a value. Bins sort in the order of their values.
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
