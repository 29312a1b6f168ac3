// Aggregation operators. Groups are runs of members in label-set order, so additions have a fixed
// order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rules/eval/arithmetic.h"
#include "rules/eval/grouping.h"
#include "rules/eval/operator.h"
#include "services/model/value.h"

namespace pitwall::eval {
namespace {

// Sorts NaN before all numbers, as in Prometheus' quantile, and -0 before 0. The selected quantile
// therefore does not depend on the sort implementation.
bool LessNanFirst(double a, double b) {
  if (std::isnan(a)) return !std::isnan(b);
  if (a == b) return std::signbit(a) && !std::signbit(b);
  return a < b;
}

double Quantile(double q, double* values, size_t count) {
  if (count == 0 || std::isnan(q)) return NormalNan();
  if (q < 0) return -std::numeric_limits<double>::infinity();
  if (q > 1) return std::numeric_limits<double>::infinity();
  const double n = static_cast<double>(count);
  const double rank = q * (n - 1);
  const auto lower = static_cast<size_t>(std::max(0.0, std::floor(rank)));
  const size_t upper = std::min(count - 1, lower + 1);
  const double weight = rank - std::floor(rank);
  std::nth_element(values, values + lower, values + count, LessNanFirst);
  const double at_lower = values[lower];
  const double at_upper = upper == lower
                              ? at_lower
                              : *std::min_element(values + lower + 1, values + count, LessNanFirst);
  return at_lower * (1 - weight) + at_upper * weight;
}

// Accumulators. Call First(v) for the first member, Next(v) for each additional member, and then
// Result().
struct SumOf {
  double sum = 0, compensation = 0;
  void First(double v) { sum = v, compensation = 0; }
  void Next(double v) { KahanAdd(v, sum, compensation); }
  double Result() const { return sum + compensation; }
};
struct AvgOf {
  double sum = 0, compensation = 0, mean = 0, count = 0;
  bool incremental = false;
  void First(double v) { *this = {v, 0, v, 1, false}; }
  void Next(double v) {
    ++count;
    if (!incremental) {
      double s = sum, c = compensation;
      KahanAdd(v, s, c);
      if (!std::isinf(s)) {
        sum = s;
        compensation = c;
        return;
      }
      // The running mean does not overflow even if the sum would.
      incremental = true;
      mean = sum / (count - 1);
      compensation /= count - 1;
    }
    const double q = (count - 1) / count;
    mean *= q;
    compensation *= q;
    KahanAdd(v / count, mean, compensation);
  }
  double Result() const {
    return incremental ? mean + compensation : sum / count + compensation / count;
  }
};
struct MinOf {
  double value = 0;
  void First(double v) { value = v; }
  void Next(double v) {
    if (value > v || std::isnan(value)) value = v;
  }
  double Result() const { return value; }
};
struct MaxOf {
  double value = 0;
  void First(double v) { value = v; }
  void Next(double v) {
    if (value < v || std::isnan(value)) value = v;
  }
  double Result() const { return value; }
};
struct CountOf {
  double count = 0;
  void First(double) { count = 1; }
  void Next(double) { ++count; }
  double Result() const { return count; }
};
struct GroupOf {
  void First(double) {}
  void Next(double) {}
  double Result() const { return 1; }
};
struct VarianceOf {
  double mean = 0, m2 = 0, count = 0;
  void First(double v) {
    mean = v;
    m2 = std::isfinite(v) ? 0 : NormalNan();
    count = 1;
  }
  void Next(double v) {
    ++count;
    const double delta = v - mean;
    mean += delta / count;
    m2 += delta * (v - mean);
  }
  double Result() const { return m2 / count; }
};
struct DeviationOf : VarianceOf {
  double Result() const { return std::sqrt(m2 / count); }
};

class AggregateOperator : public Operator {
 public:
  AggregateOperator(const plan::Aggregation& aggregation, LabelTable* table) : op_(aggregation.op) {
    std::vector<std::string> names = aggregation.grouping;
    if (aggregation.without) names.emplace_back(kMetricName);
    transform_ = table->AddTransform(!aggregation.without, std::move(names));
  }

  Status Bind(Context& context, Inputs inputs) override {
    grouping_.Build(context.table, transform_, inputs[0]->column->ids());
    if (op_ == AggregateOp::kQuantile) scratch_.resize(grouping_.largest());
    values_.assign(grouping_.groups(), 0);
    present_.assign(grouping_.groups(), 0);
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    switch (op_) {
      case AggregateOp::kSum:
        Reduce(*inputs[0], SumOf());
        break;
      case AggregateOp::kAvg:
        Reduce(*inputs[0], AvgOf());
        break;
      case AggregateOp::kMin:
        Reduce(*inputs[0], MinOf());
        break;
      case AggregateOp::kMax:
        Reduce(*inputs[0], MaxOf());
        break;
      case AggregateOp::kCount:
        Reduce(*inputs[0], CountOf());
        break;
      case AggregateOp::kGroup:
        Reduce(*inputs[0], GroupOf());
        break;
      case AggregateOp::kStddev:
        Reduce(*inputs[0], DeviationOf());
        break;
      case AggregateOp::kStdvar:
        Reduce(*inputs[0], VarianceOf());
        break;
      case AggregateOp::kQuantile:
        Quantiles(*inputs[0], inputs[1]->scalar());
        break;
      default:
        return Internal("no aggregation of numbers");
    }
    out->column = grouping_.column();
    out->values = values_;
    out->present = present_;
    return OkStatus();
  }

  size_t MemoryBytes() const override {
    return grouping_.MemoryBytes() + (values_.capacity() + scratch_.capacity()) * 8 +
           present_.capacity();
  }

 private:
  template <typename A>
  void Reduce(const Vector& in, A accumulator) {
    if (grouping_.contiguous()) {
      ReduceOver(in, accumulator, [](size_t k) { return k; });
    } else {
      const uint32_t* const member = grouping_.members();
      ReduceOver(in, accumulator, [member](size_t k) { return size_t{member[k]}; });
    }
  }

  template <typename A, typename At>
  void ReduceOver(const Vector& in, A accumulator, At at) {
    const double* const v = in.values.data();
    const uint8_t* const p = in.present.data();
    for (size_t g = 0; g < values_.size(); ++g) {
      const size_t end = grouping_.end(g);
      size_t k = grouping_.begin(g);
      while (k < end && p[at(k)] == 0) ++k;
      present_[g] = k < end;
      if (k == end) continue;
      accumulator.First(v[at(k)]);
      for (++k; k < end; ++k) {
        const size_t i = at(k);
        if (p[i] != 0) accumulator.Next(v[i]);
      }
      values_[g] = accumulator.Result();
    }
  }

  void Quantiles(const Vector& in, double q) {
    for (size_t g = 0; g < values_.size(); ++g) {
      size_t count = 0;
      for (size_t k = grouping_.begin(g); k < grouping_.end(g); ++k) {
        const size_t i = grouping_.element(k);
        if (in.present[i] != 0) scratch_[count++] = in.values[i];
      }
      present_[g] = count > 0;
      if (count > 0) values_[g] = Quantile(q, scratch_.data(), count);
    }
  }

  const AggregateOp op_;
  TransformId transform_ = 0;
  Grouping grouping_;
  std::vector<double> values_, scratch_;
  std::vector<uint8_t> present_;
};

}  // namespace

std::unique_ptr<Operator> MakeAggregate(const plan::Aggregation& aggregation, LabelTable* table) {
  return std::make_unique<AggregateOperator>(aggregation, table);
}

}  // namespace pitwall::eval
