// label_replace and label_join: the labels of an element are a function of its labels, so all is
// decided when it binds. Values only move.
#include "rules/eval/operator.h"
#include "rules/plan/function.h"
#include "services/base/strings.h"
#include "services/model/capture_pattern.h"

namespace pitwall::eval {
namespace {

using plan::FunctionId;

class RelabelOp : public Operator {
 public:
  explicit RelabelOp(const plan::Node& node)
      : node_(node), replace_(node.function == static_cast<uint32_t>(FunctionId::kLabelReplace)) {}

  Status Bind(Context& context, Inputs inputs) override {
    LabelTable& table = *context.table;
    const LabelColumn& column = *inputs[0]->column;
    std::vector<LabelId> ids(column.size());
    if (replace_) {
      ASSIGN_OR_RETURN(const CapturePattern pattern, CapturePattern::Make(node_.strings[3]));
      for (size_t i = 0; i < ids.size(); ++i) {
        const std::optional<std::string> value =
            pattern.Expand(column[i].Get(node_.strings[2]), node_.strings[1]);
        ids[i] = value ? table.Intern(column[i].With(node_.strings[0], *value)) : column.ids()[i];
      }
    } else {
      for (size_t i = 0; i < ids.size(); ++i) {
        std::vector<std::string> parts;
        for (size_t k = 2; k < node_.strings.size(); ++k)
          parts.emplace_back(column[i].Get(node_.strings[k]));
        ids[i] = table.Intern(column[i].With(node_.strings[0], Join(parts, node_.strings[1])));
      }
    }
    rename_.Build(&table, ids);
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    const Vector& in = *inputs[0];
    return rename_.Show(in.values, in.present, &values_, &present_, out);
  }

  size_t MemoryBytes() const override {
    return rename_.MemoryBytes() + values_.capacity() * 8 + present_.capacity();
  }

 private:
  const plan::Node& node_;
  const bool replace_;
  Rename rename_;
  std::vector<double> values_;
  std::vector<uint8_t> present_;
};

}  // namespace

std::unique_ptr<Operator> MakeRelabel(const plan::Node& node) {
  return std::make_unique<RelabelOp>(node);
}

}  // namespace pitwall::eval
