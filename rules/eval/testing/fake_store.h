// Test helpers: a hand-built program and a store with one value per series.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/program/function.h"
#include "rules/plan/program/program.h"
#include "services/base/check.h"
#include "services/model/windows/demand.h"

namespace pitwall::eval {

// Builder for one DomainPlan. Every demand is an instant demand on a metric and has its own
// selector.
class ProgramBuilder {
 public:
  plan::DomainPlan domain;

  plan::NodeId Number(double v) { return Add({.operation = plan::Number{v}}); }
  plan::NodeId Time() { return Add({.operation = plan::EvaluationTime()}); }
  plan::NodeId Parameter(std::string name, double value) {
    const auto index = static_cast<uint32_t>(domain.parameters.size());
    domain.parameters.push_back({"rule", std::move(name), value});
    return Add({.operation = plan::ParameterValue{index}});
  }
  // The metric "a|b" selects both a and b.
  plan::NodeId Metric(const std::string& metric, bool keep_name = true) {
    auto it = std::find(metrics.begin(), metrics.end(), metric);
    if (it == metrics.end()) {
      Selector selector;
      selector.matchers.push_back(*Matcher::Make(kMetricName, MatchOp::kRegex, metric));
      domain.demands.selectors.push_back(selector);
      metrics.push_back(metric);
      it = metrics.end() - 1;
    }
    plan::DemandColumn column;
    column.ref.demand = static_cast<uint32_t>(domain.demands.demands.size());
    column.keep_name = keep_name;
    Demand demand;
    demand.selector = static_cast<uint32_t>(it - metrics.begin());
    domain.demands.demands.push_back(demand);
    return Add({.type = plan::ValueType::kVector, .operation = column});
  }
  plan::NodeId Negate(plan::NodeId in) {
    return Add({.type = Type(in), .inputs = {in}, .operation = plan::Negation()});
  }
  plan::NodeId Binary(BinaryOp op, plan::NodeId a, plan::NodeId b, plan::Matching m = {},
                      bool return_bool = false) {
    return Add({.type = Type(a) == plan::ValueType::kVector ? Type(a) : Type(b),
                .inputs = {a, b},
                .operation = plan::BinaryOperation{op, return_bool, std::move(m)}});
  }
  plan::NodeId Set(plan::SetOp op, plan::NodeId a, plan::NodeId b, plan::Matching m = {}) {
    return Add({.type = plan::ValueType::kVector,
                .inputs = {a, b},
                .operation = plan::SetOperation{op, std::move(m)}});
  }
  plan::NodeId Aggregate(AggregateOp op, plan::NodeId in, std::vector<std::string> grouping,
                         bool without = false, std::optional<plan::NodeId> q = std::nullopt) {
    std::vector<plan::NodeId> inputs = {in};
    if (q) inputs.push_back(*q);
    return Add({.type = plan::ValueType::kVector,
                .inputs = std::move(inputs),
                .operation = plan::Aggregation{op, without, std::move(grouping)}});
  }
  plan::NodeId Call(plan::FunctionId f, std::vector<plan::NodeId> inputs,
                    std::vector<std::string> absent_labels = {}) {
    return Add({.type = f == plan::FunctionId::kScalar ? plan::ValueType::kScalar
                                                       : plan::ValueType::kVector,
                .inputs = std::move(inputs),
                .operation =
                    plan::FunctionCall{.function = f, .absent_labels = std::move(absent_labels)}});
  }
  plan::NodeId PeerScore(plan::NodeId in, std::vector<std::string> labels) {
    return OfPeers(plan::FunctionId::kPeerScore, in, std::move(labels));
  }
  plan::NodeId PeerRatio(plan::NodeId in, std::vector<std::string> labels) {
    return OfPeers(plan::FunctionId::kPeerRatio, in, std::move(labels));
  }
  plan::NodeId PeerHistograms(plan::NodeId in, std::vector<std::string> labels) {
    return OfPeers(plan::FunctionId::kPeerHistograms, in, std::move(labels));
  }
  // Adds a histogram_over_time node. The store treats a series' single value as its window.
  plan::NodeId WindowHistogram(const std::string& metric, double first, double width,
                               double count) {
    const std::vector<plan::NodeId> arguments = {Number(first), Number(width), Number(count)};
    const plan::NodeId id = Metric(metric, /*keep_name=*/false);
    plan::Node node = domain.nodes[id.index()];
    domain.nodes.pop_back();
    const uint32_t demand = std::get<plan::DemandColumn>(node.operation).ref.demand;
    domain.demands.demands[demand].function = WindowFunction::kHistogram;
    node.inputs = arguments;
    return Add(std::move(node));
  }
  plan::ValueType Type(plan::NodeId id) const { return domain.nodes[id.index()].type; }
  plan::ProgramPtr Build() const {
    auto program = std::make_shared<plan::Program>();
    program->domains.push_back(domain);
    return program;
  }

  std::vector<std::string> metrics;  // values per selector

 private:
  plan::NodeId OfPeers(plan::FunctionId f, plan::NodeId in, std::vector<std::string> labels) {
    return Add({.type = plan::ValueType::kVector,
                .inputs = {in},
                .operation = plan::FunctionCall{.function = f, .strings = std::move(labels)}});
  }
  plan::NodeId Add(plan::Node n) {
    domain.nodes.push_back(std::move(n));
    return plan::NodeId(static_cast<uint32_t>(domain.nodes.size() - 1));
  }
};

// Store with at most one value per series. `generation` increases whenever the set of series
// changes.
class FakeStore : public ColumnView {
 public:
  explicit FakeStore(const plan::DomainPlan& domain) : domain_(domain) { Refresh(); }

  // Sets a series' value; nullopt keeps the series without a sample.
  void Set(const Labels& labels, std::optional<double> value) {
    for (auto& series : series_) {
      if (*series.first == labels) {
        series.second = value;
        return;
      }
    }
    series_.emplace_back(std::make_unique<Labels>(labels), value);
    Refresh();
  }
  void Remove(const Labels& labels) {
    std::erase_if(series_, [&](const auto& s) { return *s.first == labels; });
    Refresh();
  }
  // Removes the series if `choice` is 0, removes its sample if it is 1, and otherwise sets its
  // value.
  void Change(uint64_t choice, const Labels& labels, double value) {
    if (choice == 0) return Remove(labels);
    Set(labels, choice == 1 ? std::nullopt : std::optional(value));
  }
  void Reverse() {
    std::reverse(series_.begin(), series_.end());
    Refresh();
  }
  const auto& series() const { return series_; }

  uint64_t Generation(uint32_t) const override { return generation_; }
  std::span<const Labels* const> Series(uint32_t selector) const override {
    return selected_[selector].labels;
  }
  using ColumnView::Read;
  Column Read(uint32_t demand, std::span<const double> arguments) override {
    Selected& s = selected_[domain_.demands.demands[demand].selector];
    if (domain_.demands.demands[demand].function == WindowFunction::kHistogram)
      return ReadHistogram(s, arguments);
    for (size_t i = 0; i < s.places.size(); ++i) {
      const auto& value = series_[s.places[i]].second;
      s.present[i] = value.has_value();
      s.values[i] = value.value_or(-12345);
    }
    return {s.values, s.present};
  }

 private:
  struct Selected {
    std::vector<const Labels*> labels;
    std::vector<size_t> places;
    std::vector<double> values;
    std::vector<double> counts;  // counts of a histogram
    std::vector<uint8_t> present;
  };
  Column ReadHistogram(Selected& s, std::span<const double> bounds) {
    s.counts.clear();
    for (size_t i = 0; i < s.places.size(); ++i) {
      const auto& value = series_[s.places[i]].second;
      s.present[i] = value.has_value();
      for (const double bound : bounds) s.counts.push_back(value.value_or(-12345) <= bound ? 1 : 0);
      s.counts.push_back(1);
    }
    return {s.counts, s.present};
  }
  void Refresh() {
    ++generation_;
    selected_.assign(domain_.demands.selectors.size(), {});
    for (size_t k = 0; k < selected_.size(); ++k) {
      for (size_t i = 0; i < series_.size(); ++i) {
        if (!domain_.demands.selectors[k].Matches(*series_[i].first)) continue;
        selected_[k].labels.push_back(series_[i].first.get());
        selected_[k].places.push_back(i);
      }
      selected_[k].values.resize(selected_[k].places.size());
      selected_[k].present.resize(selected_[k].places.size());
    }
  }

  const plan::DomainPlan& domain_;
  std::vector<std::pair<std::unique_ptr<Labels>, std::optional<double>>> series_;
  std::vector<Selected> selected_;
  uint64_t generation_ = 0;
};

// Shorthands for the parts of strings like a{x="1"} 5.
inline Labels L(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  return Labels(pairs);
}

}  // namespace pitwall::eval
