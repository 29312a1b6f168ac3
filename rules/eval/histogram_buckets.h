// Buckets of classic histograms: elements with equal labels except for `le`. Binding determines the
// grouping and the order of the bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/eval/label_table.h"
#include "rules/eval/vector.h"

namespace pitwall::eval {

inline constexpr std::string_view kBucketBound = "le";

struct Bucket {
  double bound;
  double count;  // number of observations less than or equal to the bound
};

// Merges buckets that have equal bounds by adding their counts. `buckets` must be sorted by bound
// and not empty.
void Coalesce(std::vector<Bucket>* buckets);
// Makes counts non-decreasing by raising each lower count to its predecessor, and removes
// differences caused by rounding.
void MakeMonotonic(std::vector<Bucket>* buckets);

class HistogramBuckets {
 public:
  explicit HistogramBuckets(LabelTable* table);

  void Bind(LabelTable* table, const LabelColumn& column);
  size_t size() const { return start_.empty() ? 0 : start_.size() - 1; }  // number of histograms
  size_t buckets(size_t histogram) const { return start_[histogram + 1] - start_[histogram]; }
  size_t largest() const { return largest_; }
  const LabelColumnPtr& column() const {
    return column_;
  }  // labels of the histograms without the bound
  // Loads the histogram's buckets that are present in `in`, in ascending order of bounds. Does not
  // allocate memory if the capacity of `out` is at least largest().
  void Load(size_t histogram, const Vector& in, std::vector<Bucket>* out) const;
  bool AnyPresent(size_t histogram, const Vector& in) const;
  size_t MemoryBytes() const { return places_.capacity() * sizeof(Place) + start_.capacity() * 4; }

 private:
  struct Place {
    double bound;
    uint32_t element;
  };
  TransformId signature_;
  LabelColumnPtr column_;
  std::vector<uint32_t> start_;  // index of each histogram's first bucket
  std::vector<Place> places_;    // sorted by bound within a histogram
  size_t largest_ = 0;
};

}  // namespace pitwall::eval
