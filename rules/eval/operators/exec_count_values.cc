// Operator count_values. This is the only aggregation whose labels depend on values, so its
// elements are determined at each tick. Each tick allocates memory and hashes labels (cost class
// "dynamic labels").
#include <algorithm>
#include <charconv>
#include <cmath>

#include "rules/eval/operator.h"

namespace pitwall::eval {
namespace {

// Formats a number like Go's FormatFloat(v, 'f', -1, 64): the shortest digits that identify v,
// followed by zeros up to the decimal point. (std::to_chars would write all digits of a large
// number.)
std::string FixedText(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  char text[32];
  const auto end =
      std::to_chars(std::begin(text), std::end(text), v, std::chars_format::scientific);
  const std::string_view all(text, static_cast<size_t>(end.ptr - text));
  const size_t e = all.find('e');
  int exponent = 0;
  const size_t digits_of_exponent = e + (all[e + 1] == '+' ? 2 : 1);
  std::from_chars(all.data() + digits_of_exponent, end.ptr, exponent);
  std::string digits;
  for (const char c : all.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string out = all[0] == '-' ? "-" : "";
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-exponent - 1), '0');
    return out + digits;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0');
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

class CountValuesOp : public Operator {
 public:
  CountValuesOp(const plan::Aggregation& aggregation, LabelTable* table)
      : label_(aggregation.value_label) {
    std::vector<std::string> names = aggregation.grouping;
    names.emplace_back(aggregation.without ? kMetricName : std::string_view(label_));
    transform_ = table->AddTransform(!aggregation.without, std::move(names));
  }

  Status Bind(Context&, Inputs) override { return OkStatus(); }

  Status Run(Context& context, Inputs inputs, Vector* out) override {
    const Vector& in = *inputs[0];
    LabelTable& table = *context.table;
    ids_.clear();
    meter_.Reset();
    for (size_t i = 0; i < in.size(); ++i) {
      if (in.present[i] == 0) continue;
      RETURN_IF_ERROR(context.Work(kElementWork));
      const Labels named = in.labels(i).With(label_, FixedText(in.values[i]));
      RETURN_IF_ERROR(meter_.Add(context.labels, named));
      ids_.push_back(table.Apply(transform_, table.Intern(named)));
    }
    LabelTable::Order order = table.Arrange(ids_);
    values_.assign(order.unique.size(), 0);
    for (const uint32_t place : order.place) values_[place] += 1;
    present_.assign(order.unique.size(), 1);
    out->column = table.Column(std::move(order.unique));
    out->values = values_;
    out->present = present_;
    return OkStatus();
  }

  size_t MemoryBytes() const override {
    return ids_.capacity() * 4 + values_.capacity() * 8 + present_.capacity();
  }
  size_t LabelBytes() const override { return meter_.bytes(); }

 private:
  static constexpr size_t kElementWork = 500;  // units of work (WorkMeter)

  const std::string label_;
  LabelMeter meter_{"count_values"};
  TransformId transform_ = 0;
  std::vector<LabelId> ids_;
  std::vector<double> values_;
  std::vector<uint8_t> present_;
};

}  // namespace

std::unique_ptr<Operator> MakeCountValues(const plan::Aggregation& aggregation, LabelTable* table) {
  return std::make_unique<CountValuesOp>(aggregation, table);
}

}  // namespace pitwall::eval
