// Operators with scalar operands: numbers, parameters, time, scalar arithmetic, and conversions
// between scalars and vectors.
#include <cmath>
#include <limits>

#include "rules/eval/arithmetic.h"
#include "rules/eval/operator.h"
#include "rules/plan/program/function.h"
#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::eval {
namespace {

constexpr uint8_t kOne = 1;

class ScalarOp : public Operator {
 public:
  explicit ScalarOp(const plan::Node& node) : node_(node) {}

  Status Bind(Context&, Inputs) override { return OkStatus(); }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    switch (node_.kind) {
      case plan::NodeKind::kNumber:
        value_ = node_.number;
        break;
      case plan::NodeKind::kParameter:
        value_ = (*context.parameters)[node_.parameter];
        break;
      case plan::NodeKind::kTime:
        value_ = Seconds(context.tick);
        break;
      case plan::NodeKind::kNegate:
        value_ = -inputs[0]->scalar();
        break;
      case plan::NodeKind::kBinary:
        value_ = Apply(node_.binary, inputs[0]->scalar(), inputs[1]->scalar());
        break;
      case plan::NodeKind::kFunction: {
        const double a = inputs[0]->scalar(), b = inputs[1]->scalar();
        const bool max = node_.function == static_cast<uint32_t>(plan::FunctionId::kMaxOf);
        value_ = max ? GoMax(a, b) : GoMin(a, b);
        break;
      }
      default:
        return Internal(Cat("no scalar operator for ", node_.text));
    }
    out->column = ScalarColumn();
    out->values = {&value_, 1};
    out->present = {&kOne, 1};
    return OkStatus();
  }

 private:
  const plan::Node& node_;
  double value_ = 0;
};

class ReshapeOp : public Operator {
 public:
  explicit ReshapeOp(const plan::Node& node)
      : function_(static_cast<plan::FunctionId>(node.function)) {
    if (function_ == plan::FunctionId::kAbsent) {
      std::vector<Label> pairs;
      for (const std::string& pair : node.matching.include) {
        const size_t at = pair.find('=');
        if (at != std::string::npos) pairs.push_back({pair.substr(0, at), pair.substr(at + 1)});
      }
      labels_ = Labels::FromPairs(std::move(pairs));
    }
  }

  Status Bind(Context& context, Inputs) override {
    column_ = context.table->Column({context.table->Intern(labels_)});
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    const Vector& in = *inputs[0];
    present_ = 1;
    switch (function_) {
      case plan::FunctionId::kScalar: {
        value_ = NormalNan();
        size_t found = 0;
        for (size_t i = 0; i < in.size() && found < 2; ++i) {
          if (in.present[i] == 0) continue;
          value_ = ++found == 1 ? in.values[i] : NormalNan();
        }
        break;
      }
      case plan::FunctionId::kVector:
        value_ = in.scalar();
        break;
      default:  // kAbsent
        value_ = 1;
        for (const uint8_t there : in.present) {
          if (there != 0) {
            present_ = 0;
            break;
          }
        }
        break;
    }
    out->column = column_;
    out->values = {&value_, 1};
    out->present = {&present_, 1};
    return OkStatus();
  }

 private:
  const plan::FunctionId function_;
  Labels labels_;  // labels of the single element
  LabelColumnPtr column_;
  double value_ = 0;
  uint8_t present_ = 1;
};

}  // namespace

const LabelColumnPtr& ScalarColumn() {
  static const LabelColumnPtr column = LabelColumn::Of({Labels()});
  return column;
}

std::unique_ptr<Operator> MakeScalar(const plan::Node& node) {
  return std::make_unique<ScalarOp>(node);
}
std::unique_ptr<Operator> MakeReshape(const plan::Node& node) {
  return std::make_unique<ReshapeOp>(node);
}

}  // namespace pitwall::eval
