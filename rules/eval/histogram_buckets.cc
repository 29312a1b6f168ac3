#include "rules/eval/histogram_buckets.h"

#include <algorithm>
#include <string>

#include "rules/eval/grouping.h"
#include "services/base/almost_equal.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

// Tolerance for counts that differ only in the last digits, as in Prometheus.
constexpr double kCountTolerance = 1e-12;

}  // namespace

void Coalesce(std::vector<Bucket>* buckets) {
  size_t kept = 0;
  for (size_t i = 1; i < buckets->size(); ++i) {
    if ((*buckets)[i].bound == (*buckets)[kept].bound) {
      (*buckets)[kept].count += (*buckets)[i].count;
    } else {
      (*buckets)[++kept] = (*buckets)[i];
    }
  }
  buckets->resize(kept + 1);
}

void MakeMonotonic(std::vector<Bucket>* buckets) {
  double previous = (*buckets)[0].count;
  for (Bucket& bucket : *buckets) {
    if (bucket.count == previous) continue;
    if (AlmostEqual(previous, bucket.count, kCountTolerance) || bucket.count < previous) {
      bucket.count = previous;
    } else {
      previous = bucket.count;
    }
  }
}

HistogramBuckets::HistogramBuckets(LabelTable* table)
    : signature_(table->AddTransform(false, {std::string(kBucketBound)})) {}

void HistogramBuckets::Bind(LabelTable* table, const LabelColumn& column) {
  std::vector<LabelId> ids;
  std::vector<double> bounds;
  std::vector<uint32_t> elements;
  for (size_t i = 0; i < column.size(); ++i) {
    const std::optional<double> bound = ParseDouble(column[i].Get(kBucketBound));
    if (!bound) continue;  // the element is not a bucket
    ids.push_back(column.ids()[i]);
    bounds.push_back(*bound);
    elements.push_back(static_cast<uint32_t>(i));
  }
  Grouping grouping;
  grouping.Build(table, signature_, ids);
  start_.assign(1, 0);
  places_.clear();
  for (size_t g = 0; g < grouping.groups(); ++g) {
    for (size_t place = grouping.begin(g); place < grouping.end(g); ++place) {
      const size_t k = grouping.element(place);
      places_.push_back({bounds[k], elements[k]});
    }
    std::stable_sort(places_.begin() + start_.back(), places_.end(),
                     [](const Place& a, const Place& b) { return a.bound < b.bound; });
    start_.push_back(static_cast<uint32_t>(places_.size()));
  }
  column_ = grouping.column();
  largest_ = grouping.largest();
}

void HistogramBuckets::Load(size_t histogram, const Vector& in, std::vector<Bucket>* out) const {
  out->clear();
  for (size_t i = start_[histogram]; i < start_[histogram + 1]; ++i) {
    const Place& place = places_[i];
    if (in.present[place.element] != 0) out->push_back({place.bound, in.values[place.element]});
  }
}

bool HistogramBuckets::AnyPresent(size_t histogram, const Vector& in) const {
  return std::any_of(places_.begin() + start_[histogram], places_.begin() + start_[histogram + 1],
                     [&](const Place& place) { return in.present[place.element] != 0; });
}

}  // namespace pitwall::eval
