// Operator histogram_distance. Computes the distance from each histogram on one side to the
// histogram with equal labels on the other side.
#include <algorithm>

#include "rules/eval/histogram_buckets.h"
#include "rules/eval/histogram_shape.h"
#include "rules/eval/operator.h"
#include "services/model/value.h"

namespace pitwall::eval {
namespace {

class HistogramDistanceOp : public Operator {
 public:
  explicit HistogramDistanceOp(LabelTable* table) : sides_{Side(table), Side(table)} {}

  Status Bind(Context& context, Inputs inputs) override {
    LabelTable& table = *context.table;
    for (size_t s = 0; s < 2; ++s) {
      Side& side = sides_[s];
      side.buckets.Bind(&table, *inputs[s]->column);
      side.scratch.reserve(side.buckets.largest());
      side.labels.clear();
      for (const LabelId id : side.buckets.column()->ids())
        side.labels.push_back(table.Apply(table.drop_name(), id));
    }
    std::vector<uint8_t> seen(table.limit(), 0);
    for (const LabelId id : sides_[0].labels) seen[id] = 1;
    std::vector<LabelId> both;
    for (const LabelId id : sides_[1].labels) {
      if (seen[id] == 1) both.push_back(id);
      seen[id] = 2;
    }
    LabelTable::Order order = table.Arrange(both);
    std::vector<uint32_t> place(table.limit(), kNoLabel);
    for (size_t t = 0; t < order.unique.size(); ++t)
      place[order.unique[t]] = static_cast<uint32_t>(t);
    for (Side& side : sides_) {
      side.target.resize(side.labels.size());
      for (size_t g = 0; g < side.labels.size(); ++g) side.target[g] = place[side.labels[g]];
      side.chosen.assign(order.unique.size(), kNoLabel);
    }
    values_.assign(order.unique.size(), 0);
    present_.assign(order.unique.size(), 0);
    column_ = table.Column(std::move(order.unique));
    return OkStatus();
  }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    for (size_t s = 0; s < 2; ++s) {
      Side& side = sides_[s];
      std::fill(side.chosen.begin(), side.chosen.end(), kNoLabel);
      for (size_t g = 0; g < side.target.size(); ++g) {
        const uint32_t t = side.target[g];
        if (t == kNoLabel || !side.buckets.AnyPresent(g, *inputs[s])) continue;
        // Two metrics can have equal labels apart from the name, such as a_bucket and b_bucket for
        // the same rank.
        if (side.chosen[t] != kNoLabel) return SameLabelset();
        side.chosen[t] = static_cast<uint32_t>(g);
      }
    }
    for (size_t t = 0; t < values_.size(); ++t) {
      present_[t] = sides_[0].chosen[t] != kNoLabel && sides_[1].chosen[t] != kNoLabel ? 1 : 0;
      if (present_[t] == 0) continue;
      RETURN_IF_ERROR(context.Work(kHistogramWork));
      bool shapes = true;
      for (size_t s = 0; s < 2; ++s) {
        sides_[s].buckets.Load(sides_[s].chosen[t], *inputs[s], &sides_[s].scratch);
        shapes = MakeShape(&sides_[s].scratch) && shapes;
      }
      values_[t] = shapes ? ShapeDistance(sides_[0].scratch, sides_[1].scratch) : NormalNan();
    }
    out->column = column_;
    out->values = values_;
    out->present = present_;
    return OkStatus();
  }

  size_t MemoryBytes() const override {
    size_t bytes = values_.capacity() * 9;
    for (const Side& side : sides_) {
      bytes += side.buckets.MemoryBytes() + side.scratch.capacity() * sizeof(Bucket) +
               (side.labels.capacity() + side.target.capacity() + side.chosen.capacity()) * 4;
    }
    return bytes;
  }

 private:
  static constexpr size_t kHistogramWork = 1000;  // units of work (WorkMeter)

  struct Side {
    explicit Side(LabelTable* table) : buckets(table) {}
    HistogramBuckets buckets;
    std::vector<LabelId> labels;   // labels per histogram, without name and bound
    std::vector<uint32_t> target;  // position in the result, per histogram
    std::vector<uint32_t> chosen;  // histogram that is present at this tick, per position
    std::vector<Bucket> scratch;
  };

  Side sides_[2];
  LabelColumnPtr column_;
  std::vector<double> values_;
  std::vector<uint8_t> present_;
};

}  // namespace

std::unique_ptr<Operator> MakeHistogramDistance(LabelTable* table) {
  return std::make_unique<HistogramDistanceOp>(table);
}

}  // namespace pitwall::eval
