// Elementwise operations on one vector. Rules should spend most of their time in these loops.
#include "rules/eval/arithmetic.h"
#include "rules/eval/element_functions.h"
#include "rules/eval/operator.h"
#include "rules/plan/program/function.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

using plan::FunctionId;

// `in` and `out` may be the same array.
template <typename F>
void Loop(const double* in, double* out, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) out[i] = f(in[i]);
}

// Elementwise operations that drop the metric name: negation, functions, arithmetic with a scalar,
// and comparison with `bool`.
class MapOp : public Operator {
 public:
  MapOp(const plan::Node& node, size_t vector)
      : binary_(node.As<plan::BinaryOperation>()),
        call_(node.As<plan::FunctionCall>()),
        vector_(vector) {}

  Status Bind(Context& context, Inputs inputs) override {
    const std::span<const LabelId> from = inputs[vector_]->column->ids();
    std::vector<LabelId> ids(from.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = context.table->Apply(context.table->drop_name(), from[i]);
    }
    rename_.Build(context.table, ids);
    return OkStatus();
  }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    const Vector& in = *inputs[vector_];
    const double* from = in.values.data();
    out->column = rename_.column();
    const size_t n = out->column->size();
    if (IsEmptyRange(inputs)) {
      values_.assign(n, 0);
      present_.assign(n, 0);
      out->values = values_;
      out->present = present_;
      return OkStatus();
    }
    if (rename_.identity()) {
      values_.resize(n);
      out->present = in.present;
    } else {
      RETURN_IF_ERROR(rename_.Move(in.values, in.present, &values_, &present_));
      from = values_.data();
      out->present = present_;
    }
    out->values = values_;
    Compute(context, inputs, from);
    return OkStatus();
  }

  size_t MemoryBytes() const override {
    return rename_.MemoryBytes() + values_.capacity() * 8 + present_.capacity();
  }

 private:
  // Returns true for a clamp() with an empty range. Its result is empty.
  bool IsEmptyRange(Inputs inputs) const {
    return call_ != nullptr && call_->function == FunctionId::kClamp &&
           inputs[2]->scalar() < inputs[1]->scalar();
  }

  void Compute(const Context& context, Inputs inputs, const double* from) {
    double* const to = values_.data();
    const size_t n = values_.size();
    if (binary_ != nullptr) {
      const double s = inputs[1 - vector_]->scalar();
      if (IsComparison(binary_->op)) {  // comparison with bool
        return WithComparison(binary_->op, [&](auto f) {
          vector_ == 0 ? Loop(from, to, n, [f, s](double v) { return f(v, s) ? 1.0 : 0.0; })
                       : Loop(from, to, n, [f, s](double v) { return f(s, v) ? 1.0 : 0.0; });
        });
      }
      return WithArithmetic(binary_->op, [&](auto f) {
        vector_ == 0 ? Loop(from, to, n, [f, s](double v) { return f(v, s); })
                     : Loop(from, to, n, [f, s](double v) { return f(s, v); });
      });
    }
    if (call_ == nullptr) return Loop(from, to, n, [](double v) { return -v; });
    double a = 1;  // default of round(), which rounds to integers
    double b = 0;
    if (inputs.size() > 1) a = inputs[1]->scalar();
    if (inputs.size() > 2) b = inputs[2]->scalar();
    if (call_->function == FunctionId::kTimestampOf) a = Seconds(context.tick);
    ApplyFunction(call_->function, a, b, from, to, n);
  }

  // Both are null for a negation.
  const plan::BinaryOperation* const binary_;
  const plan::FunctionCall* const call_;
  const size_t vector_;
  Rename rename_;
  std::vector<double> values_;
  std::vector<uint8_t> present_;
};

// Filtering comparison of a vector with a scalar. Names, values, and positions do not change.
class FilterOp : public Operator {
 public:
  FilterOp(const plan::BinaryOperation& binary, size_t vector) : op_(binary.op), vector_(vector) {}

  Status Bind(Context&, Inputs) override { return OkStatus(); }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    const Vector& in = *inputs[vector_];
    const size_t n = in.size();
    present_.resize(n);
    const double s = inputs[1 - vector_]->scalar();
    const double* const v = in.values.data();
    const uint8_t* const p = in.present.data();
    uint8_t* const to = present_.data();
    WithComparison(op_, [&](auto f) {
      if (vector_ == 0) {
        for (size_t i = 0; i < n; ++i) to[i] = Both(p[i] != 0, f(v[i], s));
      } else {
        for (size_t i = 0; i < n; ++i) to[i] = Both(p[i] != 0, f(s, v[i]));
      }
    });
    out->column = in.column;
    out->values = in.values;
    out->present = present_;
    return OkStatus();
  }

  size_t MemoryBytes() const override { return present_.capacity(); }

 private:
  const BinaryOp op_;
  const size_t vector_;
  std::vector<uint8_t> present_;
};

}  // namespace

std::unique_ptr<Operator> MakeMap(const plan::Node& node, size_t vector) {
  return std::make_unique<MapOp>(node, vector);
}
std::unique_ptr<Operator> MakeFilter(const plan::BinaryOperation& binary, size_t vector) {
  return std::make_unique<FilterOp>(binary, vector);
}

}  // namespace pitwall::eval
