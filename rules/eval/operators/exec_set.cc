// Set operators and, or, and unless. They test whether label groups are present on the other side.
#include <algorithm>

#include "rules/eval/arithmetic.h"
#include "rules/eval/operator.h"

namespace pitwall::eval {
namespace {

class SetOperator : public Operator {
 public:
  SetOperator(const plan::SetOperation& set, LabelTable* table) : op_(set.op) {
    std::vector<std::string> names = set.matching.labels;
    if (!set.matching.on) {
      for (const std::string& metadata : MetadataLabels()) names.push_back(metadata);
    }
    signature_ = table->AddTransform(set.matching.on, std::move(names));
  }

  Status Bind(Context& context, Inputs inputs) override {
    LabelTable& table = *context.table;
    const std::span<const LabelId> left = inputs[0]->column->ids();
    const std::span<const LabelId> right = inputs[1]->column->ids();
    left_group_.resize(left.size());
    right_group_.resize(right.size());
    // The arrays initially contain signature IDs, which are then replaced with dense numbers.
    for (size_t i = 0; i < left.size(); ++i) left_group_[i] = table.Apply(signature_, left[i]);
    for (size_t i = 0; i < right.size(); ++i) right_group_[i] = table.Apply(signature_, right[i]);
    std::vector<uint32_t> number(table.limit(), kNoLabel);
    uint32_t groups = 0;
    for (std::vector<uint32_t>* side : {&left_group_, &right_group_}) {
      for (uint32_t& id : *side) {
        if (number[id] == kNoLabel) number[id] = groups++;
        id = number[id];
      }
    }
    there_.assign(groups, 0);
    if (op_ != plan::SetOp::kOr) {
      present_.assign(left.size(), 0);
      return OkStatus();
    }
    table.Settle();
    std::vector<LabelId> ids;
    ids.reserve(left.size() + right.size());
    const auto by_rank = [&](LabelId a, LabelId b) { return table.Rank(a) < table.Rank(b); };
    std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(ids),
                   by_rank);
    if (ids.size() > context.max_elements) {
      return TooManyElements(ids.size(), context.max_elements);
    }
    const auto places = [&](std::span<const LabelId> side, std::vector<uint32_t>* target) {
      target->resize(side.size());
      size_t k = 0;
      for (size_t i = 0; i < side.size(); ++i) {
        while (ids[k] != side[i]) ++k;
        (*target)[i] = static_cast<uint32_t>(k);
      }
    };
    places(left, &left_target_);
    places(right, &right_target_);
    values_.assign(ids.size(), 0);
    present_.assign(ids.size(), 0);
    column_ = table.Column(std::move(ids));
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    const Vector& left = *inputs[0];
    const Vector& right = *inputs[1];
    const bool is_or = op_ == plan::SetOp::kOr;
    const Vector& marking = is_or ? left : right;
    const std::vector<uint32_t>& group = is_or ? left_group_ : right_group_;
    std::fill(there_.begin(), there_.end(), 0);
    for (size_t i = 0; i < group.size(); ++i) {
      there_[group[i]] |= static_cast<uint8_t>(marking.present[i] != 0);
    }
    out->present = present_;
    if (is_or) {
      std::fill(present_.begin(), present_.end(), 0);
      for (size_t i = 0; i < left_target_.size(); ++i) {
        if (left.present[i] == 0) continue;
        present_[left_target_[i]] = 1;
        values_[left_target_[i]] = left.values[i];
      }
      for (size_t i = 0; i < right_target_.size(); ++i) {
        if (right.present[i] == 0 || there_[right_group_[i]] != 0) continue;
        present_[right_target_[i]] = 1;
        values_[right_target_[i]] = right.values[i];
      }
      out->column = column_;
      out->values = values_;
      return OkStatus();
    }
    const uint8_t wanted = op_ == plan::SetOp::kAnd ? 1 : 0;
    for (size_t i = 0; i < left_group_.size(); ++i) {
      present_[i] = Both(left.present[i] != 0, there_[left_group_[i]] == wanted);
    }
    out->column = left.column;
    out->values = left.values;
    return OkStatus();
  }

  size_t MemoryBytes() const override {
    return (left_group_.capacity() + right_group_.capacity() + left_target_.capacity() +
            right_target_.capacity()) *
               4 +
           there_.capacity() + values_.capacity() * 8 + present_.capacity();
  }

 private:
  const plan::SetOp op_;
  TransformId signature_;
  std::vector<uint32_t> left_group_, right_group_;    // matching group of each element
  std::vector<uint32_t> left_target_, right_target_;  // position in the result of `or`
  std::vector<uint8_t> there_;                        // per group
  LabelColumnPtr column_;                             // used by `or`
  std::vector<double> values_;                        // used by `or`
  std::vector<uint8_t> present_;
};

}  // namespace

std::unique_ptr<Operator> MakeSetOp(const plan::SetOperation& set, LabelTable* table) {
  return std::make_unique<SetOperator>(set, table);
}

}  // namespace pitwall::eval
