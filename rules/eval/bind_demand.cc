// Binds a view's columns in label-set order.
#include <algorithm>
#include <string>

#include "rules/eval/operator.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

void Refresh(SelectorBinding& binding, const Context& context, ColumnView* view,
             uint32_t selector) {
  const std::span<const Labels* const> series = view->Series(selector);
  std::vector<LabelId> ids(series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    // After most changes, most series keep their position, so a comparison is cheaper than hashing.
    // Comparing only addresses is not sufficient, because the store may reuse an address.
    if (i < binding.pointers.size() && binding.pointers[i] == series[i] &&
        context.table->Get(binding.ids[i]) == *series[i]) {
      ids[i] = binding.ids[i];
    } else {
      ids[i] = context.table->Intern(*series[i]);
    }
  }
  binding.pointers.assign(series.begin(), series.end());
  binding.ids = std::move(ids);
  binding.generation = view->Generation(selector);
  binding.bound = true;
  ++binding.version;
}

class DemandOp : public Operator {
 public:
  DemandOp(const plan::DemandColumn& column, const Demand& demand, size_t arguments)
      : source_(column.ref.source),
        demand_(column.ref.demand),
        selector_(demand.selector),
        keep_name_(column.keep_name),
        smoothing_(demand.function == WindowFunction::kSmoothing),
        arguments_(arguments) {}

  Status Bind(Context&, Inputs) override { return OkStatus(); }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    for (size_t k = 0; k < inputs.size(); ++k) arguments_[k] = inputs[k]->scalar();
    ColumnView* const view = context.views[source_];
    ASSIGN_OR_RETURN(SelectorBinding* const bound, BindSelector(context, source_, selector_));
    SelectorBinding& binding = *bound;
    SelectorBinding::Flavor& flavor = keep_name_ ? binding.named : binding.nameless;
    if (!flavor.built || flavor.version != binding.version) {
      if (keep_name_) {
        flavor.rename.Build(context.table, binding.ids);
      } else {
        std::vector<LabelId> ids(binding.ids.size());
        for (size_t i = 0; i < ids.size(); ++i) {
          ids[i] = context.table->Apply(context.table->drop_name(), binding.ids[i]);
        }
        flavor.rename.Build(context.table, ids);
      }
      flavor.built = true;
      flavor.version = binding.version;
    }
    const Column column = view->Read(demand_, arguments_);
    if (column.values.size() != binding.ids.size() || column.present.size() != binding.ids.size()) {
      return Internal(Cat("column of demand ", demand_, " has ", column.values.size(),
                          " values for ", binding.ids.size(), " series"));
    }
    if (smoothing_ && std::count(column.present.begin(), column.present.end(), 1) > 0)
      RETURN_IF_ERROR(CheckFactors());
    return flavor.rename.Show(column.values, column.present, &values_, &present_, out);
  }

  size_t MemoryBytes() const override { return values_.capacity() * 8 + present_.capacity(); }

 private:
  Status CheckFactors() const {
    constexpr std::string_view kNames[] = {"smoothing", "trend"}, kShort[] = {"sf", "tf"};
    for (size_t k = 0; k < 2; ++k) {
      if (arguments_[k] > 0 && arguments_[k] < 1) continue;
      return InvalidArgument(Cat("invalid ", kNames[k], " factor. Expected: 0 < ", kShort[k],
                                 " < 1, got: ", std::to_string(arguments_[k])));
    }
    return OkStatus();
  }

  const uint32_t source_;
  const uint32_t demand_;
  const uint32_t selector_;
  const bool keep_name_;
  const bool smoothing_;  // for double_exponential_smoothing, whose arguments have a limited range
  std::vector<double> arguments_;
  std::vector<double> values_;
  std::vector<uint8_t> present_;
};

}  // namespace

StatusOr<SelectorBinding*> BindSelector(Context& context, uint32_t source, uint32_t selector) {
  ColumnView* const view = context.views[source];
  SelectorBinding& binding = *(*context.selectors)[source][selector];
  if (!binding.bound || binding.generation != view->Generation(selector))
    Refresh(binding, context, view, selector);
  if (binding.ids.size() > context.max_elements)
    return TooManyElements(binding.ids.size(), context.max_elements);
  return &binding;
}

void Rename::Build(LabelTable* table, std::span<const LabelId> ids) {
  LabelTable::Order order = table->Arrange(ids);
  identity_ = order.identity;
  unique_ = order.injective;
  source_.clear();
  target_.clear();
  if (!unique_) {
    target_ = std::move(order.place);
  } else if (!identity_) {
    source_.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) source_[order.place[i]] = static_cast<uint32_t>(i);
  }
  column_ = table->Column(std::move(order.unique));
}

Status Rename::Move(std::span<const double> values, std::span<const uint8_t> present,
                    std::vector<double>* out_values, std::vector<uint8_t>* out_present) const {
  const size_t n = column_->size();
  out_values->resize(n);
  out_present->resize(n);
  double* const to = out_values->data();
  uint8_t* const there = out_present->data();
  if (unique_) {
    const uint32_t* const source = source_.data();
    for (size_t i = 0; i < n; ++i) to[i] = values[source[i]];
    for (size_t i = 0; i < n; ++i) there[i] = present[source[i]];
    return OkStatus();
  }
  std::fill(out_present->begin(), out_present->end(), 0);
  for (size_t i = 0; i < target_.size(); ++i) {
    if (present[i] == 0) continue;
    const uint32_t t = target_[i];
    if (there[t] != 0) return SameLabelset();
    there[t] = 1;
    to[t] = values[i];
  }
  return OkStatus();
}

Status Rename::Show(std::span<const double> values, std::span<const uint8_t> present,
                    std::vector<double>* moved, std::vector<uint8_t>* moved_present,
                    Vector* out) const {
  out->column = column_;
  out->values = values;
  out->present = present;
  if (identity_) return OkStatus();
  RETURN_IF_ERROR(Move(values, present, moved, moved_present));
  out->values = *moved;
  out->present = *moved_present;
  return OkStatus();
}

std::unique_ptr<Operator> MakeDemand(const plan::Node& node, const plan::DomainPlan& domain) {
  const auto& column = std::get<plan::DemandColumn>(node.operation);
  const Demand& demand = plan::DemandAt(domain, column.ref);
  if (demand.function == WindowFunction::kHistogram) return MakeWindowHistogram(node, domain);
  return std::make_unique<DemandOp>(column, demand, node.inputs.size());
}

Status TooManyElements(size_t n, size_t limit) {
  return ResourceExhausted(
      Cat("query processing would load too many samples into memory in query execution: ", n,
          " elements, the limit is ", limit));
}

Status SameLabelset() {
  return InvalidArgument("vector cannot contain metrics with the same labelset");
}

}  // namespace pitwall::eval
