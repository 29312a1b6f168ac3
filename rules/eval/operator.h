// One operator per node of a DomainPlan: binds when the labels of its inputs change, then runs over
// arrays at each tick.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rules/eval/label_limits.h"
#include "rules/eval/label_table.h"
#include "rules/eval/vector.h"
#include "rules/eval/work_meter.h"
#include "rules/plan/program/program.h"
#include "services/base/status.h"
#include "services/model/windows/demand.h"

namespace pitwall::eval {

// The series of one selector, interned, with and without the metric name: shared by all demands on
// it.
struct SelectorBinding;

struct Context {
  int64_t tick = 0;
  std::vector<ColumnView*> views;  // by plan::Node::source
  LabelTable* table = nullptr;
  const std::vector<double>* parameters = nullptr;
  // By source, parallel to its DemandSet::selectors.
  std::vector<std::vector<std::unique_ptr<SelectorBinding>>>* selectors = nullptr;
  size_t max_elements = 0;
  LabelLimits labels;
  WorkMeter* meter = nullptr;  // null: nothing interrupts the evaluation

  // Call it in loops over elements. Not OK: stop with that status.
  Status Work(size_t units) {
    return meter == nullptr || meter->Add(units) ? OkStatus() : meter->status();
  }
};

using Inputs = std::span<const Vector* const>;

class Operator {
 public:
  virtual ~Operator() = default;
  // Called before Run whenever an input's binding is another than at the last Bind (and the first
  // time).
  virtual Status Bind(Context& context, Inputs inputs) = 0;
  // Fills `out`. Allocates nothing, except for the text of an error.
  virtual Status Run(Context& context, Inputs inputs, Vector* out) = 0;
  virtual size_t MemoryBytes() const { return 0; }
  // The label sets that the operator computed for its current result, as LabelMeter counts them; 0
  // if it only drops or keeps labels.
  virtual size_t LabelBytes() const { return 0; }
};

// What an operator does when the metric names of its input go: elements move to new places, and may
// fall together. Elements that fall together must not be there at once.
class Rename {
 public:
  // Output labels per input element, in input order.
  void Build(LabelTable* table, std::span<const LabelId> ids);
  const LabelColumnPtr& column() const { return column_; }
  bool identity() const { return identity_; }
  // Moves values and presence. Not to be called for an identity.
  Status Move(std::span<const double> values, std::span<const uint8_t> present,
              std::vector<double>* out_values, std::vector<uint8_t>* out_present) const;
  // The column, and the given values and presence under it: as they are for an identity, else moved
  // into `moved` and `moved_present`, which `out` then shows.
  Status Show(std::span<const double> values, std::span<const uint8_t> present,
              std::vector<double>* moved, std::vector<uint8_t>* moved_present, Vector* out) const;
  size_t MemoryBytes() const { return (source_.capacity() + target_.capacity()) * 4; }

 private:
  LabelColumnPtr column_;
  bool identity_ = false;
  bool unique_ = false;
  std::vector<uint32_t> source_;  // unique: input element of each output element
  std::vector<uint32_t> target_;  // else: output element of each input element
};

struct SelectorBinding {
  uint64_t generation = 0;
  bool bound = false;
  std::vector<const Labels*> pointers;  // as Series gave them
  std::vector<LabelId> ids;
  struct Flavor {
    bool built = false;
    uint64_t version = 0;  // of `ids`
    Rename rename;
  };
  uint64_t version = 0;
  Flavor named, nameless;
};

// The binding of a selector, as of the store's series now; an error beyond max_elements.
StatusOr<SelectorBinding*> BindSelector(Context& context, uint32_t source, uint32_t selector);

std::unique_ptr<Operator> MakeDemand(const plan::Node& node, const plan::DomainPlan& domain);
std::unique_ptr<Operator> MakeWindowHistogram(const plan::Node& node,
                                              const plan::DomainPlan& domain);
std::unique_ptr<Operator> MakeScalar(const plan::Node& node);
std::unique_ptr<Operator> MakeMatch(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakeSetOp(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakeAggregate(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakeSelect(const plan::Node& node, LabelTable* table);  // topk, …
std::unique_ptr<Operator> MakeCountValues(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakeRelabel(const plan::Node& node);  // label_replace, label_join
std::unique_ptr<Operator> MakeHistogram(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakeHistogramDistance(LabelTable* table);
std::unique_ptr<Operator> MakePeerHistograms(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakePeerScore(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakePeerRatio(const plan::Node& node, LabelTable* table);
std::unique_ptr<Operator> MakeBaselineScore();
// Element by element over one vector, with scalars beside it: negation, functions, vector with
// scalar. `vector` is the index of the vector among the inputs.
std::unique_ptr<Operator> MakeMap(const plan::Node& node, size_t vector);
std::unique_ptr<Operator> MakeFilter(const plan::Node& node, size_t vector);
// scalar(), vector(), absent().
std::unique_ptr<Operator> MakeReshape(const plan::Node& node);

// The column of scalars: one element without labels.
const LabelColumnPtr& ScalarColumn();

Status TooManyElements(size_t n, size_t limit);
Status SameLabelset();

}  // namespace pitwall::eval
