// Aggregations that select elements from each group without changing them: topk, bottomk, limitk,
// and limit_ratio.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rules/eval/grouping.h"
#include "rules/eval/operator.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

// Returns the position of a label set between 0 and 1, as in Prometheus. The position is the hash
// of the label set in Prometheus' own encoding, in which lengths of 255 or more take three extra
// bytes.
double SampleOffset(const Labels& labels) {
  std::string bytes;
  const auto add = [&](std::string_view text) {
    const size_t n = text.size();
    if (n < 255) {
      bytes += static_cast<char>(n);
    } else {
      bytes += '\xff';
      for (int shift = 0; shift < 24; shift += 8)
        bytes += static_cast<char>((n >> static_cast<unsigned>(shift)) & 0xff);
    }
    bytes += text;
  };
  for (const Label& label : labels) {
    add(label.name);
    add(label.value);
  }
  return static_cast<double>(XxHash64(bytes)) /
         static_cast<double>(std::numeric_limits<uint64_t>::max());
}

class SelectOp : public Operator {
 public:
  SelectOp(const plan::Aggregation& aggregation, LabelTable* table) : op_(aggregation.op) {
    std::vector<std::string> names = aggregation.grouping;
    if (aggregation.without) names.emplace_back(kMetricName);
    transform_ = table->AddTransform(!aggregation.without, std::move(names));
  }

  Status Bind(Context& context, Inputs inputs) override {
    const LabelColumn& column = *inputs[0]->column;
    grouping_.Build(context.table, transform_, column.ids());
    present_.assign(column.size(), 0);
    candidates_.resize(grouping_.largest());
    if (op_ == AggregateOp::kLimitRatio) {
      offsets_.resize(column.size());
      for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] = SampleOffset(column[i]);
    }
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    const Vector& in = *inputs[0];
    std::fill(present_.begin(), present_.end(), 0);
    out->column = in.column;
    out->values = in.values;
    out->present = present_;
    const double parameter = inputs[1]->scalar();
    return op_ == AggregateOp::kLimitRatio ? Ratio(in, parameter) : Some(in, parameter);
  }

  size_t MemoryBytes() const override {
    return grouping_.MemoryBytes() + present_.capacity() + candidates_.capacity() * 4 +
           offsets_.capacity() * 8;
  }

 private:
  Status Ratio(const Vector& in, double ratio) {
    if (std::isnan(ratio)) return InvalidArgument("Ratio value is NaN");
    if (ratio == 0) return OkStatus();
    ratio = std::clamp(ratio, -1.0, 1.0);
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const bool taken = ratio >= 0 ? offsets_[i] < ratio : offsets_[i] >= 1.0 + ratio;
      present_[i] = in.present[i] != 0 && taken ? 1 : 0;
    }
    return OkStatus();
  }

  Status Some(const Vector& in, double parameter) {
    if (std::isnan(parameter)) return InvalidArgument("Parameter value is NaN");
    if (parameter < 1) return OkStatus();
    if (parameter >= 0x1p63) {
      return InvalidArgument(Cat("Scalar value ", FormatDouble(parameter), " overflows int64"));
    }
    const auto wanted = static_cast<size_t>(std::min(parameter, 4e9));
    for (size_t g = 0; g < grouping_.groups(); ++g) {
      size_t count = 0;
      for (size_t place = grouping_.begin(g); place < grouping_.end(g); ++place) {
        const size_t i = grouping_.element(place);
        if (in.present[i] != 0) candidates_[count++] = static_cast<uint32_t>(i);
      }
      const size_t taken = std::min(wanted, count);
      if (taken < count && op_ != AggregateOp::kLimitk) Choose(in, taken, count);
      for (size_t k = 0; k < taken; ++k) present_[candidates_[k]] = 1;
    }
    return OkStatus();
  }

  // Moves the `taken` best candidates to the front. Ties are broken as in Prometheus, with a heap
  // of the selected candidates: the worst candidate is at the top and is replaced by better
  // candidates. NaN is the worst value.
  void Choose(const Vector& in, size_t taken, size_t count) {
    const double* const v = in.values.data();
    const bool largest = op_ == AggregateOp::kTopk;
    uint32_t* const heap = candidates_.data();
    const auto worse = [&](size_t i, size_t j) {
      const double a = v[heap[i]], b = v[heap[j]];
      return std::isnan(a) || (largest ? a < b : a > b);
    };
    for (size_t k = 1; k < taken; ++k) {  // sift up
      for (size_t at = k; at > 0 && worse(at, (at - 1) / 2); at = (at - 1) / 2)
        std::swap(heap[at], heap[(at - 1) / 2]);
    }
    for (size_t k = taken; k < count; ++k) {
      const double top = v[heap[0]], next = v[heap[k]];
      const bool better =
          (largest ? top < next : top > next) || (std::isnan(top) && !std::isnan(next));
      if (!better) continue;
      heap[0] = heap[k];
      for (size_t at = 0; 2 * at + 1 < taken;) {  // sift down
        size_t child = 2 * at + 1;
        if (child + 1 < taken && worse(child + 1, child)) ++child;
        if (!worse(child, at)) break;
        std::swap(heap[at], heap[child]);
        at = child;
      }
    }
  }

  const AggregateOp op_;
  TransformId transform_ = 0;
  Grouping grouping_;
  std::vector<uint8_t> present_;
  std::vector<uint32_t> candidates_;  // scratch space
  std::vector<double> offsets_;       // used by limit_ratio
};

}  // namespace

std::unique_ptr<Operator> MakeSelect(const plan::Aggregation& aggregation, LabelTable* table) {
  return std::make_unique<SelectOp>(aggregation, table);
}

}  // namespace pitwall::eval
