// Estimate of the label bytes that an expression computes per element.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rules/plan/program/program.h"

namespace pitwall::plan {

// Computes an upper bound, in bytes, of the labels that the nodes of one DomainPlan compute for one
// element. The bound assumes a typical length for selected labels. A replacement text that
// references a group n times can repeat the whole source label n times, so nested calls multiply.
// Estimates are finite.
//
// Not thread-safe.
class LabelGrowth {
 public:
  explicit LabelGrowth(const DomainPlan& domain) : domain_(domain), known_(domain.nodes.size()) {}

  // Returns the number of bytes that the node itself computes per element of its result, or 0 if it
  // does not set labels.
  double BytesOf(NodeId id);

 private:
  // Sizes of label values that inner nodes set. Other labels have a typical length.
  struct Sizes {
    bool known = false;
    double computed = 0;
    std::map<std::string, double> values;
  };

  const Sizes& Of(NodeId id);
  Sizes Compute(const Node& node);
  Sizes OfSource(uint32_t source);
  // Aggregate and Call change the sizes of the input to those of the result.
  void Aggregate(const Aggregation& aggregation, Sizes* sizes) const;
  void Call(const FunctionCall& call, Sizes* sizes) const;
  void Set(const std::string& label, double bytes, Sizes* sizes) const;

  const DomainPlan& domain_;
  std::vector<Sizes> known_;
};

}  // namespace pitwall::plan
