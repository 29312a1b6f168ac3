// Operator peer_histogram_distance. Computes the distance from each histogram to the peer that
// differs most from it.
#include <algorithm>
#include <cmath>

#include "rules/eval/grouping.h"
#include "rules/eval/histogram_buckets.h"
#include "rules/eval/histogram_shape.h"
#include "rules/eval/operator.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::eval {
namespace {

// All pairs are compared. With 20 buckets, a pair takes about 0.4 µs.
constexpr size_t kMaxHistogramsOfGroup = 1024;

class PeerHistogramsOp : public Operator {
 public:
  PeerHistogramsOp(const plan::FunctionCall& call, LabelTable* table)
      : buckets_(table), group_(table->AddTransform(true, call.strings)) {}

  Status Bind(Context& context, Inputs inputs) override {
    LabelTable& table = *context.table;
    buckets_.Bind(&table, *inputs[0]->column);
    const std::span<const LabelId> histograms = buckets_.column()->ids();
    grouping_.Build(&table, group_, histograms);
    std::vector<LabelId> ids(histograms.size());
    for (size_t h = 0; h < ids.size(); ++h) ids[h] = table.Apply(table.drop_name(), histograms[h]);
    rename_.Build(&table, ids);
    raw_.assign(ids.size(), 0);
    raw_present_.assign(ids.size(), 0);
    scratch_.reserve(buckets_.largest());
    shapes_.reserve(std::min(grouping_.largest(), kMaxHistogramsOfGroup));
    size_t most = 0;
    for (size_t g = 0; g < grouping_.groups(); ++g) {
      size_t all = 0;
      for (size_t place = grouping_.begin(g); place < grouping_.end(g); ++place)
        all += buckets_.buckets(grouping_.element(place));
      most = std::max(most, all);
    }
    all_.reserve(std::min(most, kMaxHistogramsOfGroup * buckets_.largest()));
    return OkStatus();
  }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    for (size_t g = 0; g < grouping_.groups(); ++g)
      RETURN_IF_ERROR(Compare(context, *inputs[0], g));
    return rename_.Show(raw_, raw_present_, &values_, &present_, out);
  }

  size_t MemoryBytes() const override {
    return buckets_.MemoryBytes() + grouping_.MemoryBytes() + rename_.MemoryBytes() +
           (scratch_.capacity() + all_.capacity()) * sizeof(Bucket) +
           shapes_.capacity() * sizeof(Shape) + (raw_.capacity() + values_.capacity()) * 9;
  }

 private:
  // Histogram of the group that is present and has a shape. Its buckets are in all_.
  struct Shape {
    uint32_t histogram;
    uint32_t begin, end;
  };

  Status Compare(Context& context, const Vector& in, size_t group) {
    shapes_.clear();
    all_.clear();
    size_t there = 0;
    for (size_t place = grouping_.begin(group); place < grouping_.end(group); ++place) {
      const size_t h = grouping_.element(place);
      raw_[h] = NormalNan();
      raw_present_[h] = 0;
      buckets_.Load(h, in, &scratch_);
      if (scratch_.empty()) continue;
      if (++there > kMaxHistogramsOfGroup) return TooMany();
      raw_present_[h] = 1;
      if (!MakeShape(&scratch_)) continue;
      const auto begin = static_cast<uint32_t>(all_.size());
      all_.insert(all_.end(), scratch_.begin(), scratch_.end());
      shapes_.push_back({static_cast<uint32_t>(h), begin, static_cast<uint32_t>(all_.size())});
    }
    // A histogram without a shape is not a peer. A histogram without peers has no result.
    for (size_t place = grouping_.begin(group); shapes_.size() < 2 && place < grouping_.end(group);
         ++place) {
      const size_t h = grouping_.element(place);
      const bool alone = shapes_.empty() || shapes_[0].histogram == h;
      if (alone) raw_present_[h] = 0;
    }
    for (size_t i = 0; i < shapes_.size(); ++i) {
      RETURN_IF_ERROR(context.Work(i * buckets_.largest() * kBucketWork));
      for (size_t j = 0; j < i; ++j) {
        const double distance = ShapeDistance(BucketsOf(shapes_[i]), BucketsOf(shapes_[j]));
        // The distance between two histograms without common bounds is NaN, which counts as smaller
        // than any number.
        for (const Shape* shape : {&shapes_[i], &shapes_[j]}) {
          double& most = raw_[shape->histogram];
          if (std::isnan(most) || distance > most) most = distance;
        }
      }
    }
    return OkStatus();
  }

  std::span<const Bucket> BucketsOf(const Shape& shape) const {
    return std::span(all_).subspan(shape.begin, shape.end - shape.begin);
  }

  static Status TooMany() {
    return ResourceExhausted(
        Cat("peer_histogram_distance compares all pairs of histograms in a group, so a group must "
            "have at most ",
            kMaxHistogramsOfGroup, " histograms; group by more labels"));
  }

  static constexpr size_t kBucketWork = 4;  // units of work (WorkMeter)

  HistogramBuckets buckets_;
  const TransformId group_;
  Grouping grouping_;  // groups of histograms
  Rename rename_;
  std::vector<Bucket> scratch_, all_;
  std::vector<Shape> shapes_;
  std::vector<double> raw_, values_;
  std::vector<uint8_t> raw_present_, present_;
};

}  // namespace

std::unique_ptr<Operator> MakePeerHistograms(const plan::FunctionCall& call, LabelTable* table) {
  return std::make_unique<PeerHistogramsOp>(call, table);
}

}  // namespace pitwall::eval
