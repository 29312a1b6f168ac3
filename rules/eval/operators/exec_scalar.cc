// Operators with scalar operands: numbers, parameters, time, scalar arithmetic, and conversions
// between scalars and vectors.
#include <cmath>
#include <limits>

#include "rules/eval/arithmetic.h"
#include "rules/eval/operator.h"
#include "rules/plan/program/function.h"
#include "services/model/value.h"

namespace pitwall::eval {
namespace {

constexpr uint8_t kOne = 1;

double ValueOf(const plan::Number& number, const Context&, Inputs) { return number.value; }
double ValueOf(const plan::ParameterValue& parameter, const Context& context, Inputs) {
  return (*context.parameters)[parameter.parameter];
}
double ValueOf(const plan::EvaluationTime&, const Context& context, Inputs) {
  return Seconds(context.tick);
}
double ValueOf(const plan::Negation&, const Context&, Inputs inputs) {
  return -inputs[0]->scalar();
}
double ValueOf(const plan::BinaryOperation& binary, const Context&, Inputs inputs) {
  return Apply(binary.op, inputs[0]->scalar(), inputs[1]->scalar());
}
double ValueOf(const plan::FunctionCall& call, const Context&, Inputs inputs) {
  const double a = inputs[0]->scalar(), b = inputs[1]->scalar();
  return call.function == plan::FunctionId::kMaxOf ? GoMax(a, b) : GoMin(a, b);
}

template <typename Operation>
class ScalarOp : public Operator {
 public:
  explicit ScalarOp(const Operation& operation) : operation_(operation) {}

  Status Bind(Context&, Inputs) override { return OkStatus(); }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    value_ = ValueOf(operation_, context, inputs);
    out->column = ScalarColumn();
    out->values = {&value_, 1};
    out->present = {&kOne, 1};
    return OkStatus();
  }

 private:
  const Operation& operation_;
  double value_ = 0;
};

class ReshapeOp : public Operator {
 public:
  explicit ReshapeOp(const plan::FunctionCall& call) : function_(call.function) {
    if (function_ == plan::FunctionId::kAbsent) {
      std::vector<Label> pairs;
      for (const std::string& pair : call.absent_labels) {
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

std::unique_ptr<Operator> MakeScalar(const plan::Number& number) {
  return std::make_unique<ScalarOp<plan::Number>>(number);
}
std::unique_ptr<Operator> MakeScalar(const plan::ParameterValue& parameter) {
  return std::make_unique<ScalarOp<plan::ParameterValue>>(parameter);
}
std::unique_ptr<Operator> MakeScalar(const plan::EvaluationTime& time) {
  return std::make_unique<ScalarOp<plan::EvaluationTime>>(time);
}
std::unique_ptr<Operator> MakeScalar(const plan::Negation& negation) {
  return std::make_unique<ScalarOp<plan::Negation>>(negation);
}
std::unique_ptr<Operator> MakeScalar(const plan::BinaryOperation& binary) {
  return std::make_unique<ScalarOp<plan::BinaryOperation>>(binary);
}
std::unique_ptr<Operator> MakeScalar(const plan::FunctionCall& call) {
  return std::make_unique<ScalarOp<plan::FunctionCall>>(call);
}
std::unique_ptr<Operator> MakeReshape(const plan::FunctionCall& call) {
  return std::make_unique<ReshapeOp>(call);
}

}  // namespace pitwall::eval
