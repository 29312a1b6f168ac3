// Scores for elements at a tick. An element is compared with its peers, by robust z-scores
// (services/model/windows/robust_score.h) or ratios, or with the median and MAD of a window.
#include <algorithm>
#include <cmath>

#include "rules/eval/grouping.h"
#include "rules/eval/operator.h"
#include "services/model/value.h"
#include "services/model/windows/robust_score.h"

namespace pitwall::eval {
namespace {

// Returns the median of n sorted numbers without the number at index `left_out`.
template <typename Sorted>
double MedianWithout(size_t n, size_t left_out, Sorted sorted) {
  const size_t peers = n - 1;
  const auto peer = [&](size_t k) { return sorted(k + (k >= left_out ? 1 : 0)); };
  const double upper = peer(peers / 2);
  return peers % 2 == 1 ? upper : peer(peers / 2 - 1) * 0.5 + upper * 0.5;
}

// Base class for functions that compare each element with its peers: the other elements in its
// group. The element itself is excluded, because it would bias the result in a small group. NaN is
// not a peer, and its own result is NaN if other elements have a result. If an element has fewer
// than `least` peers, there is no result.
class PeerOp : public Operator {
 public:
  PeerOp(const plan::FunctionCall& call, LabelTable* table, size_t least)
      : group_(table->AddTransform(true, call.strings)), least_(least) {}

  Status Bind(Context& context, Inputs inputs) override {
    LabelTable& table = *context.table;
    const std::span<const LabelId> elements = inputs[0]->column->ids();
    grouping_.Build(&table, group_, elements);
    std::vector<LabelId> ids(elements.size());
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = table.Apply(table.drop_name(), elements[i]);
    rename_.Build(&table, ids);
    order_.resize(grouping_.largest());
    raw_.assign(elements.size(), 0);
    raw_present_.assign(elements.size(), 0);
    Reserve(grouping_.largest());
    return OkStatus();
  }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    for (size_t g = 0; g < grouping_.groups(); ++g) {
      RETURN_IF_ERROR(context.Work((grouping_.end(g) - grouping_.begin(g)) * kElementWork));
      Compare(*inputs[0], g);
    }
    return rename_.Show(raw_, raw_present_, &values_, &present_, out);
  }

  size_t MemoryBytes() const override {
    return grouping_.MemoryBytes() + rename_.MemoryBytes() + order_.capacity() * 4 +
           (raw_.capacity() + values_.capacity()) * 8 + raw_present_.capacity() +
           present_.capacity();
  }

 protected:
  virtual void Reserve(size_t /*largest*/) {}
  // Computes results[sorted[k]] for the numbers in one group, sorted by value. The group has more
  // than `least` numbers.
  virtual void Judge(const double* values, std::span<const uint32_t> sorted, double* results) = 0;

 private:
  void Compare(const Vector& in, size_t group) {
    const double* const v = in.values.data();
    size_t n = 0;  // number of values that are not NaN
    for (size_t place = grouping_.begin(group); place < grouping_.end(group); ++place) {
      const size_t i = grouping_.element(place);
      raw_present_[i] = 0;
      if (in.present[i] != 0 && !std::isnan(v[i])) order_[n++] = static_cast<uint32_t>(i);
    }
    for (size_t place = grouping_.begin(group); place < grouping_.end(group); ++place) {
      const size_t i = grouping_.element(place);
      if (in.present[i] == 0 || !std::isnan(v[i]) || n < least_) continue;
      raw_[i] = NormalNan();
      raw_present_[i] = 1;
    }
    if (n < least_ + 1) return;
    // Equal values are ordered by label to make the order of 0 and -0 deterministic.
    std::sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(n),
              [v](uint32_t a, uint32_t b) { return v[a] != v[b] ? v[a] < v[b] : a < b; });
    const std::span<const uint32_t> sorted(order_.data(), n);
    for (const uint32_t i : sorted) raw_present_[i] = 1;
    Judge(v, sorted, raw_.data());
  }

  static constexpr size_t kElementWork = 200;  // units of work (WorkMeter)

  const TransformId group_;
  const size_t least_;
  Grouping grouping_;
  Rename rename_;
  std::vector<uint32_t> order_;  // scratch space: the sorted numbers of a group
  std::vector<double> raw_, values_;
  std::vector<uint8_t> raw_present_, present_;
};

// Operator peer_zscore. It requires two peers, because the median and MAD of a single peer are
// meaningless.
class PeerScoreOp final : public PeerOp {
 public:
  PeerScoreOp(const plan::FunctionCall& call, LabelTable* table) : PeerOp(call, table, 2) {}

  size_t MemoryBytes() const override { return PeerOp::MemoryBytes() + deviations_.capacity() * 8; }

 private:
  void Reserve(size_t largest) override { deviations_.resize(largest); }

  void Judge(const double* v, std::span<const uint32_t> order, double* results) override {
    const size_t n = order.size();
    const auto sorted = [&](size_t k) { return v[order[k]]; };
    const auto deviations_end = deviations_.begin() + static_cast<ptrdiff_t>(n);
    // The median of the other elements depends only on whether the excluded element is below, at,
    // or above the middle, so there are at most three different medians.
    double median = NormalNan();
    for (size_t k = 0; k < n; ++k) {
      const size_t i = order[k];
      const double of_peers = MedianWithout(n, k, sorted);
      if (!std::isfinite(of_peers)) {
        results[i] = NormalNan();
        continue;
      }
      if (of_peers != median) {
        median = of_peers;
        for (size_t j = 0; j < n; ++j) deviations_[j] = std::fabs(sorted(j) - median);
        std::sort(deviations_.begin(), deviations_end);
      }
      const auto own = static_cast<size_t>(
          std::lower_bound(deviations_.begin(), deviations_end, std::fabs(v[i] - median)) -
          deviations_.begin());
      const double mad = MedianWithout(n, own, [&](size_t j) { return deviations_[j]; });
      results[i] = RobustScore(v[i], median, mad);
    }
  }

  std::vector<double>
      deviations_;  // scratch space: deviations of all elements from the median of their peers
};

// Operator peer_ratio. A single peer is sufficient, because the quotient is exact.
class PeerRatioOp final : public PeerOp {
 public:
  PeerRatioOp(const plan::FunctionCall& call, LabelTable* table) : PeerOp(call, table, 1) {}

 private:
  void Judge(const double* v, std::span<const uint32_t> order, double* results) override {
    for (size_t k = 0; k < order.size(); ++k) {
      const double ratio =
          v[order[k]] / MedianWithout(order.size(), k, [&](size_t j) { return v[order[j]]; });
      results[order[k]] = std::isnan(ratio) ? NormalNan() : ratio;
    }
  }
};

// Operator baseline_zscore. Its inputs are the values and the medians and MADs of the windows,
// matched by all labels except the name.
class BaselineScoreOp : public Operator {
 public:
  Status Bind(Context& context, Inputs inputs) override {
    LabelTable& table = *context.table;
    const std::span<const LabelId> elements = inputs[0]->column->ids();
    std::vector<LabelId> ids(elements.size());
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = table.Apply(table.drop_name(), elements[i]);
    rename_.Build(&table, ids);
    Meet(table, ids, inputs[1]->column->ids(), &median_);
    Meet(table, ids, inputs[2]->column->ids(), &mad_);
    raw_.assign(elements.size(), 0);
    raw_present_.assign(elements.size(), 0);
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    const Vector& value = *inputs[0];
    const Vector& median = *inputs[1];
    const Vector& mad = *inputs[2];
    for (size_t i = 0; i < raw_.size(); ++i) {
      raw_present_[i] = 0;
      if (value.present[i] == 0 || median_[i] == kNoLabel || mad_[i] == kNoLabel) continue;
      if (median.present[median_[i]] == 0 || mad.present[mad_[i]] == 0) continue;
      const double score =
          RobustScore(value.values[i], median.values[median_[i]], mad.values[mad_[i]]);
      raw_[i] = std::isnan(score) ? NormalNan() : score;
      raw_present_[i] = 1;
    }
    return rename_.Show(raw_, raw_present_, &values_, &present_, out);
  }

  size_t MemoryBytes() const override {
    return rename_.MemoryBytes() + (median_.capacity() + mad_.capacity()) * 4 +
           (raw_.capacity() + values_.capacity()) * 9;
  }

 private:
  // Sets partner[i] to the position of ids[i] in `others`, or to kNoLabel if the ID is missing.
  static void Meet(const LabelTable& table, const std::vector<LabelId>& ids,
                   std::span<const LabelId> others, std::vector<uint32_t>* partner) {
    std::vector<uint32_t> place(table.limit(), kNoLabel);
    for (size_t k = 0; k < others.size(); ++k) place[others[k]] = static_cast<uint32_t>(k);
    partner->resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) (*partner)[i] = place[ids[i]];
  }

  Rename rename_;
  std::vector<uint32_t> median_, mad_;
  std::vector<double> raw_, values_;
  std::vector<uint8_t> raw_present_, present_;
};

}  // namespace

std::unique_ptr<Operator> MakePeerScore(const plan::FunctionCall& call, LabelTable* table) {
  return std::make_unique<PeerScoreOp>(call, table);
}
std::unique_ptr<Operator> MakePeerRatio(const plan::FunctionCall& call, LabelTable* table) {
  return std::make_unique<PeerRatioOp>(call, table);
}
std::unique_ptr<Operator> MakeBaselineScore() { return std::make_unique<BaselineScoreOp>(); }

}  // namespace pitwall::eval
