// Estimate of the label bytes that an expression computes for each element.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rules/plan/program/program.h"

namespace pitwall::plan {

// Upper bound, in bytes, of the labels that the nodes of one DomainPlan compute for one element,
// with selected labels of a typical length. A replacement text that names a group n times can
// repeat the whole source label n times, so nested calls multiply. Estimates are finite.
//
// Not thread-safe.
class LabelGrowth {
 public:
  explicit LabelGrowth(const DomainPlan& domain) : domain_(domain), known_(domain.nodes.size()) {}

  // Bytes that the node itself computes per element of its result: 0 unless it sets labels.
  double BytesOf(NodeId id);

 private:
  // Value bytes of the labels that inner nodes set; other labels have a typical length.
  struct Sizes {
    bool known = false;
    double computed = 0;
    std::map<std::string, double> values;
  };

  const Sizes& Of(NodeId id);
  Sizes Compute(const Node& node);
  Sizes OfSource(uint32_t source);
  void Set(const std::string& label, double bytes, Sizes* sizes) const;

  const DomainPlan& domain_;
  std::vector<Sizes> known_;
};

}  // namespace pitwall::plan
