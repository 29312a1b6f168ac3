// Functions that operate on classic histograms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rules/eval/histogram_buckets.h"
#include "rules/eval/operator.h"
#include "rules/plan/program/function.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::eval {
namespace {

using plan::FunctionId;

constexpr double kInf = std::numeric_limits<double>::infinity();
// Computes a quantile like BucketQuantile in promql/quantile.go. Modifies `buckets`.
double BucketQuantile(double q, std::vector<Bucket>* buckets) {
  if (std::isnan(q)) return NormalNan();
  if (q < 0) return -kInf;
  if (q > 1) return kInf;
  if (buckets->back().bound != kInf) return NormalNan();
  Coalesce(buckets);
  MakeMonotonic(buckets);
  const std::vector<Bucket>& b = *buckets;
  if (b.size() < 2) return NormalNan();
  const double observations = b.back().count;
  if (observations == 0) return NormalNan();
  double rank = q * observations;
  // Finds the first bucket whose count is at least the rank, or the last bucket if no other bucket
  // qualifies.
  size_t at = 0;
  for (size_t from = 0, to = b.size() - 1; from < to; at = from) {
    const size_t middle = from + (to - from) / 2;
    if (b[middle].count >= rank) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  if (at == b.size() - 1) return b[b.size() - 2].bound;
  if (at == 0 && b[0].bound <= 0) return b[0].bound;
  double start = 0;
  double count = b[at].count;
  if (at > 0) {
    start = b[at - 1].bound;
    count -= b[at - 1].count;
    rank -= b[at - 1].count;
  }
  return start + (b[at].bound - start) * (rank / count);
}

// Computes the share of observations between `lower` and `upper`, like BucketFraction in
// promql/quantile.go.
double BucketFraction(double lower, double upper, std::vector<Bucket>* buckets) {
  if (buckets->back().bound != kInf) return NormalNan();
  Coalesce(buckets);
  const std::vector<Bucket>& b = *buckets;
  const double observations = b.back().count;
  if (observations == 0 || std::isnan(lower) || std::isnan(upper)) return NormalNan();
  if (lower >= upper) return 0;
  // Returns the number of observations below v, interpolated within the bucket that contains v. An
  // unbounded bucket contributes nothing.
  const auto rank_of = [&](double v) {
    double below = 0;
    double bound = b[0].bound <= 0 ? -kInf : 0;
    for (size_t i = 0; i < b.size(); ++i) {
      if (i > 0) bound = b[i - 1].bound;
      if (bound >= v) return std::min(below, observations);
      if (b[i].bound > v) {
        const double rank = bound == -kInf
                                ? b[i].count
                                : below + (b[i].count - below) * (v - bound) / (b[i].bound - bound);
        return rank > observations ? observations : rank;
      }
      below = b[i].count;
    }
    return observations;
  };
  return (rank_of(upper) - rank_of(lower)) / observations;
}

// Formats a number like labels.FormatOpenMetricsFloat, which appends ".0" to integers.
std::string QuantileText(double q) {
  std::string text = FormatDouble(q);
  if (std::isfinite(q) && text.find_first_of("e.") == std::string::npos) text += ".0";
  return text;
}

std::vector<std::string> WithoutBound(std::vector<std::string> names) {
  names.emplace_back(kBucketBound);
  return names;
}

class HistogramOp : public Operator {
 public:
  HistogramOp(const plan::FunctionCall& call, LabelTable* table)
      : function_(call.function),
        vector_(function_ == FunctionId::kHistogramQuantile   ? 1
                : function_ == FunctionId::kHistogramFraction ? 2
                                                              : 0),
        label_(call.strings.empty() ? "" : call.strings[0]),
        buckets_(table),
        result_(table->AddTransform(false, WithoutBound(MetadataLabels()))) {}

  Status Bind(Context& context, Inputs inputs) override {
    buckets_.Bind(context.table, *inputs[vector_]->column);
    scratch_.reserve(buckets_.largest());
    raw_.assign(buckets_.size() * Quantiles(inputs), 0);
    raw_present_.assign(raw_.size(), 0);
    named_.clear();
    return Name(context, inputs);
  }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    if (function_ == FunctionId::kHistogramQuantiles) RETURN_IF_ERROR(Name(context, inputs));
    const Vector& in = *inputs[vector_];
    const size_t per_group = Quantiles(inputs);
    for (size_t g = 0; g < buckets_.size(); ++g) {
      RETURN_IF_ERROR(context.Work(per_group * buckets_.buckets(g) * kBucketWork));
      for (size_t k = 0; k < per_group; ++k) {
        buckets_.Load(g, in, &scratch_);
        const size_t at = g * per_group + k;
        raw_present_[at] = scratch_.empty() ? 0 : 1;
        if (!scratch_.empty()) raw_[at] = Value(inputs, k);
      }
    }
    return rename_.Show(raw_, raw_present_, &values_, &present_, out);
  }

  size_t MemoryBytes() const override {
    return rename_.MemoryBytes() + buckets_.MemoryBytes() +
           (raw_.capacity() + values_.capacity()) * 9;
  }

  size_t LabelBytes() const override { return meter_.bytes(); }

 private:
  // Units of work (WorkMeter).
  static constexpr size_t kBucketWork = 10;
  static constexpr size_t kLabelWork = 500;

  size_t Quantiles(Inputs inputs) const {
    return function_ == FunctionId::kHistogramQuantiles ? inputs.size() - 1 : 1;
  }

  double Value(Inputs inputs, size_t k) {
    switch (function_) {
      case FunctionId::kHistogramQuantile:
        return BucketQuantile(inputs[0]->scalar(), &scratch_);
      case FunctionId::kHistogramFraction:
        return BucketFraction(inputs[0]->scalar(), inputs[1]->scalar(), &scratch_);
      default:
        return BucketQuantile(inputs[k + 1]->scalar(), &scratch_);
    }
  }

  // Computes the result labels. If there are several quantiles, a label contains the quantile and
  // must be updated when the quantile changes.
  Status Name(Context& context, Inputs inputs) {
    LabelTable& table = *context.table;
    const size_t per_group = Quantiles(inputs);
    std::vector<double> quantiles;
    if (function_ == FunctionId::kHistogramQuantiles) {
      for (size_t k = 1; k < inputs.size(); ++k) quantiles.push_back(inputs[k]->scalar());
      if (!named_.empty() && named_ == quantiles) return OkStatus();
    }
    std::vector<LabelId> ids;
    meter_.Reset();
    named_.clear();
    for (const LabelId group : buckets_.column()->ids()) {
      RETURN_IF_ERROR(context.Work(per_group * kLabelWork));
      const LabelId plain = table.Apply(result_, group);
      for (size_t k = 0; k < per_group; ++k) {
        if (quantiles.empty()) {
          ids.push_back(plain);
          continue;
        }
        const Labels named = table.Get(plain).With(label_, QuantileText(quantiles[k]));
        RETURN_IF_ERROR(meter_.Add(context.labels, named));
        ids.push_back(table.Intern(named));
      }
    }
    rename_.Build(&table, ids);
    named_ = std::move(quantiles);
    return OkStatus();
  }

  const FunctionId function_;
  const size_t vector_;  // index of the input
  const std::string label_;
  LabelMeter meter_{"histogram_quantiles"};
  HistogramBuckets buckets_;
  const TransformId result_;
  std::vector<Bucket> scratch_;
  std::vector<double> named_;  // quantiles that the current labels contain
  Rename rename_;
  std::vector<double> raw_, values_;
  std::vector<uint8_t> raw_present_, present_;
};

}  // namespace

std::unique_ptr<Operator> MakeHistogram(const plan::FunctionCall& call, LabelTable* table) {
  return std::make_unique<HistogramOp>(call, table);
}

}  // namespace pitwall::eval
