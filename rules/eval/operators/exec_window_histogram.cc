// Operator histogram_over_time. The store counts the samples in each series' window by bucket, and
// each count becomes an element whose label `le` is the bound. The elements depend only on the
// series, so the binding changes only when the series change.
#include <algorithm>
#include <limits>

#include "rules/eval/histogram_buckets.h"
#include "rules/eval/operator.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"
#include "services/model/windows/linear_bounds.h"

namespace pitwall::eval {
namespace {

class WindowHistogramOp : public Operator {
 public:
  WindowHistogramOp(plan::DemandRef ref, uint32_t selector, std::vector<double> bounds)
      : source_(ref.source), demand_(ref.demand), selector_(selector), bounds_(std::move(bounds)) {
    for (const double bound : bounds_) texts_.push_back(FormatDouble(bound));
    texts_.push_back(FormatDouble(std::numeric_limits<double>::infinity()));
  }

  Status Bind(Context&, Inputs) override { return OkStatus(); }

  Status Run(Context& context, Inputs, Vector* out) override {
    ASSIGN_OR_RETURN(const SelectorBinding* const series,
                     BindSelector(context, source_, selector_));
    const size_t n = series->ids.size(), elements = n * texts_.size();
    if (elements > context.max_elements) return TooManyElements(elements, context.max_elements);
    if (!bound_ || version_ != series->version) RETURN_IF_ERROR(Label(context, series->ids));
    version_ = series->version;
    bound_ = true;
    const Column column = context.views[source_]->Read(demand_, bounds_);
    if (column.values.size() != elements || column.present.size() != n) {
      return Internal(Cat("column of demand ", demand_, " has ", column.values.size(),
                          " values for ", n, " series with ", texts_.size(), " buckets"));
    }
    for (size_t i = 0; i < n; ++i) {
      std::fill_n(raw_present_.begin() + static_cast<ptrdiff_t>(i * texts_.size()), texts_.size(),
                  column.present[i]);
    }
    return rename_.Show(column.values, raw_present_, &values_, &present_, out);
  }

  size_t MemoryBytes() const override {
    return rename_.MemoryBytes() + bounds_.capacity() * 8 + values_.capacity() * 8 +
           present_.capacity() + raw_present_.capacity();
  }
  size_t LabelBytes() const override { return meter_.bytes(); }

 private:
  Status Label(Context& context, const std::vector<LabelId>& series) {
    LabelTable& table = *context.table;
    bound_ = false;
    meter_.Reset();
    std::vector<LabelId> ids;
    ids.reserve(series.size() * texts_.size());
    for (const LabelId id : series) {
      const LabelId plain = table.Apply(table.drop_name(), id);
      RETURN_IF_ERROR(context.Work(texts_.size() * kElementWork));
      for (const std::string& text : texts_) {
        const Labels bucket = table.Get(plain).With(kBucketBound, text);
        RETURN_IF_ERROR(meter_.Add(context.labels, bucket));
        ids.push_back(table.Intern(bucket));
      }
    }
    rename_.Build(&table, ids);
    raw_present_.assign(ids.size(), 0);
    return OkStatus();
  }

  static constexpr size_t kElementWork = 500;  // units of work (WorkMeter)

  LabelMeter meter_{"histogram_over_time"};
  const uint32_t source_;
  const uint32_t demand_;
  const uint32_t selector_;
  const std::vector<double> bounds_;
  std::vector<std::string> texts_;  // bounds as text; the last is +Inf
  bool bound_ = false;
  uint64_t version_ = 0;  // version of the series from which the elements were created
  Rename rename_;
  std::vector<uint8_t> raw_present_, present_;
  std::vector<double> values_;
};

}  // namespace

std::unique_ptr<Operator> MakeWindowHistogram(const plan::Node& node,
                                              const plan::DomainPlan& domain) {
  const auto number = [&](size_t input) {
    const auto* argument = domain.nodes[node.inputs[input].index()].As<plan::Number>();
    PITWALL_CHECK(argument != nullptr);  // rules/check rejects other arguments
    return argument->value;
  };
  const plan::DemandRef ref = std::get<plan::DemandColumn>(node.operation).ref;
  return std::make_unique<WindowHistogramOp>(
      ref, plan::DemandAt(domain, ref).selector,
      LinearBounds(number(0), number(1), static_cast<size_t>(number(2))));
}

}  // namespace pitwall::eval
