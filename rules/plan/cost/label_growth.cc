#include "rules/plan/cost/label_growth.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "rules/plan/program/function.h"
#include "services/model/labels.h"

namespace pitwall::plan {
namespace {

constexpr double kTypicalBytes = 32;  // per label value of a selected series
constexpr double kMaxBytes = 1e18;    // above any limit; keeps estimates finite
constexpr double kNumberBytes = 24;   // per numeric label value

using ValueSizes = std::map<std::string, double>;

double SizeOf(const ValueSizes& values, const std::string& label) {
  const auto at = values.find(label);
  return at == values.end() ? kTypicalBytes : at->second;
}

// Growth of a replacement text: its literal bytes and its number of group references.
struct Replacement {
  double literal = 0;
  double groups = 0;
};

// Parses a replacement text in the same way as ExpandGroups
// (services/model/issues/capture_pattern.h).
Replacement ReplacementOf(std::string_view text) {
  const auto in_name = [&](size_t i) {
    return i < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  Replacement out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t start = i + 1 + (i + 1 < text.size() && text[i + 1] == '{' ? 1 : 0);
    if (text[i] != '$' || !in_name(start)) {
      ++out.literal;
      if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '$') ++i;
      continue;
    }
    ++out.groups;
    for (i = start; in_name(i + 1);) ++i;
    if (i + 1 < text.size() && start > 1 && text[start - 1] == '{' && text[i + 1] == '}') ++i;
  }
  return out;
}

}  // namespace

double LabelGrowth::BytesOf(NodeId id) { return Of(id).computed; }

const LabelGrowth::Sizes& LabelGrowth::Of(NodeId id) {
  Sizes& known = known_[id.index()];
  if (!known.known) {
    Sizes computed = Compute(domain_.nodes[id.index()]);
    computed.known = true;
    known = std::move(computed);
  }
  return known;
}

LabelGrowth::Sizes LabelGrowth::OfSource(uint32_t source) {
  Sizes out;
  if (source > 0) out.values = Of(domain_.subqueries[source - 1].expr).values;
  return out;
}

void LabelGrowth::Set(const std::string& label, double bytes, Sizes* sizes) const {
  bytes = std::min(bytes, kMaxBytes);
  sizes->values[label] = bytes;
  sizes->computed += bytes;
}

LabelGrowth::Sizes LabelGrowth::Compute(const Node& node) {
  if (const auto* column = node.As<DemandColumn>()) return OfSource(column->ref.source);
  // For each label, the largest input value counts, because `or` and group_left may take the value
  // from either side.
  Sizes out;
  for (const NodeId input : node.inputs) {
    for (const auto& [label, bytes] : Of(input).values) {
      double& most = out.values[label];
      most = std::max(most, bytes);
    }
  }
  if (const auto* aggregation = node.As<Aggregation>()) Aggregate(*aggregation, &out);
  if (const auto* binary = node.As<BinaryOperation>()) {
    for (const std::string& label : binary->matching.include)
      out.computed += SizeOf(out.values, label);
  }
  if (const auto* call = node.As<FunctionCall>()) Call(*call, &out);
  return out;
}

void LabelGrowth::Aggregate(const Aggregation& aggregation, Sizes* sizes) const {
  const bool counts = aggregation.op == AggregateOp::kCountValues;
  if (counts) Set(aggregation.value_label, kNumberBytes, sizes);
  if (aggregation.op >= AggregateOp::kTopk && !counts) return;
  const std::vector<std::string>& grouping = aggregation.grouping;
  std::erase_if(sizes->values, [&](const auto& value) {
    const bool named = std::find(grouping.begin(), grouping.end(), value.first) != grouping.end();
    return named == aggregation.without && !(counts && value.first == aggregation.value_label);
  });
}

void LabelGrowth::Call(const FunctionCall& call, Sizes* sizes) const {
  const std::vector<std::string>& strings = call.strings;
  if (call.function == FunctionId::kLabelReplace) {
    const Replacement replacement = ReplacementOf(strings[1]);
    const double bytes =
        replacement.literal + replacement.groups * SizeOf(sizes->values, strings[2]);
    Set(strings[0], bytes, sizes);
  } else if (call.function == FunctionId::kLabelJoin) {
    double bytes = 0;
    for (size_t k = 2; k < strings.size(); ++k) {
      bytes +=
          SizeOf(sizes->values, strings[k]) + (k > 2 ? static_cast<double>(strings[1].size()) : 0);
    }
    Set(strings[0], bytes, sizes);
  } else if (call.function == FunctionId::kHistogramQuantiles) {
    Set(strings[0], kNumberBytes, sizes);
  }
}

}  // namespace pitwall::plan
