// Operators label_replace and label_join. The result's labels depend only on the element's labels,
// so binding computes them, and a tick only moves values.
#include "rules/eval/operator.h"
#include "rules/plan/program/function.h"
#include "services/base/text/strings.h"
#include "services/model/issues/capture_pattern.h"

namespace pitwall::eval {
namespace {

using plan::FunctionId;

class RelabelOp : public Operator {
 public:
  explicit RelabelOp(const plan::FunctionCall& call)
      : strings_(call.strings),
        replace_(call.function == FunctionId::kLabelReplace),
        label_(strings_[0]),
        meter_(replace_ ? "label_replace" : "label_join") {}

  Status Bind(Context& context, Inputs inputs) override {
    meter_.Reset();
    const LabelColumn& column = *inputs[0]->column;
    std::vector<LabelId> ids(column.ids().begin(), column.ids().end());
    RETURN_IF_ERROR(replace_ ? Replace(context, column, &ids) : JoinLabels(context, column, &ids));
    rename_.Build(context.table, ids);
    return OkStatus();
  }

  Status Run(Context&, Inputs inputs, Vector* out) override {
    const Vector& in = *inputs[0];
    return rename_.Show(in.values, in.present, &values_, &present_, out);
  }

  size_t MemoryBytes() const override {
    return rename_.MemoryBytes() + values_.capacity() * 8 + present_.capacity();
  }
  size_t LabelBytes() const override { return meter_.bytes(); }

 private:
  Status Replace(Context& context, const LabelColumn& column, std::vector<LabelId>* ids) {
    ASSIGN_OR_RETURN(const CapturePattern pattern, CapturePattern::Make(strings_[3]));
    for (size_t i = 0; i < ids->size(); ++i) {
      const std::string_view source = column[i].Get(strings_[2]);
      RETURN_IF_ERROR(context.Work(kPatternWork * (source.size() + 16)));
      const std::optional<std::string> value =
          pattern.Expand(source, strings_[1], context.labels.value);
      if (value) RETURN_IF_ERROR(Set(context, column[i], *value, &(*ids)[i]));
    }
    return OkStatus();
  }

  Status JoinLabels(Context& context, const LabelColumn& column, std::vector<LabelId>* ids) {
    const std::span<const std::string> sources = std::span(strings_).subspan(2);
    std::string value;
    for (size_t i = 0; i < ids->size(); ++i) {
      value.clear();
      for (size_t k = 0; k < sources.size(); ++k) {
        if (k > 0) value += strings_[1];
        value += column[i].Get(sources[k]);
        RETURN_IF_ERROR(meter_.CheckValue(context.labels, label_, value.size()));
      }
      RETURN_IF_ERROR(context.Work(value.size() + sources.size() * 16));
      RETURN_IF_ERROR(Set(context, column[i], value, &(*ids)[i]));
    }
    return OkStatus();
  }

  Status Set(Context& context, const Labels& labels, std::string_view value, LabelId* id) {
    RETURN_IF_ERROR(meter_.CheckValue(context.labels, label_, value.size()));
    const Labels changed = labels.With(label_, value);
    RETURN_IF_ERROR(meter_.Add(context.labels, changed));
    *id = context.table->Intern(changed);
    return OkStatus();
  }

  static constexpr size_t kPatternWork = 8;  // units of work (WorkMeter) per byte that RE2 reads

  const std::vector<std::string>& strings_;  // string arguments
  const bool replace_;
  const std::string& label_;  // name of the label that the function sets
  LabelMeter meter_;
  Rename rename_;
  std::vector<double> values_;
  std::vector<uint8_t> present_;
};

}  // namespace

std::unique_ptr<Operator> MakeRelabel(const plan::FunctionCall& call) {
  return std::make_unique<RelabelOp>(call);
}

}  // namespace pitwall::eval
