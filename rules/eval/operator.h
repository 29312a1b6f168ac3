// Operators, one per node of a DomainPlan. An operator is bound when the labels of its inputs
// change, and then runs over arrays at each tick.
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

// Interned series of one selector, with and without the metric name. All demands on the selector
// share them.
struct SelectorBinding;

struct Context {
  int64_t tick = 0;
  std::vector<ColumnView*> views;  // indexed by plan::DemandRef::source
  LabelTable* table = nullptr;
  const std::vector<double>* parameters = nullptr;
  // Indexed by source, parallel to its DemandSet::selectors.
  std::vector<std::vector<std::unique_ptr<SelectorBinding>>>* selectors = nullptr;
  size_t max_elements = 0;
  LabelLimits labels;
  WorkMeter* meter = nullptr;  // null if the evaluation cannot be interrupted

  // Records work and checks for interruption. Call this method in loops over elements, and stop on
  // an error.
  Status Work(size_t units) {
    return meter == nullptr || meter->Add(units) ? OkStatus() : meter->status();
  }
};

using Inputs = std::span<const Vector* const>;

class Operator {
 public:
  virtual ~Operator() = default;
  // Binds the operator. Called before the first Run, and before every Run that follows a change in
  // an input's binding.
  virtual Status Bind(Context& context, Inputs inputs) = 0;
  // Fills `out`. Allocates memory only for error messages.
  virtual Status Run(Context& context, Inputs inputs, Vector* out) = 0;
  virtual size_t MemoryBytes() const { return 0; }
  // Returns the size in bytes of the label sets that the operator computed for its current result,
  // as counted by LabelMeter, or 0 if the operator only drops or keeps labels.
  virtual size_t LabelBytes() const { return 0; }
};

// Mapping of elements after their metric names are dropped. The elements get new positions and may
// collide. Colliding elements must not be present at the same time.
class Rename {
 public:
  // Builds the mapping from the output labels of each input element, in input order.
  void Build(LabelTable* table, std::span<const LabelId> ids);
  const LabelColumnPtr& column() const { return column_; }
  bool identity() const { return identity_; }
  // Moves values and presence flags. Must not be called if the mapping is the identity.
  Status Move(std::span<const double> values, std::span<const uint8_t> present,
              std::vector<double>* out_values, std::vector<uint8_t>* out_present) const;
  // Sets `out` to the column with the given values and presence flags. If the mapping is the
  // identity, `out` refers to the given values; otherwise, it refers to `moved` and
  // `moved_present`.
  Status Show(std::span<const double> values, std::span<const uint8_t> present,
              std::vector<double>* moved, std::vector<uint8_t>* moved_present, Vector* out) const;
  size_t MemoryBytes() const { return (source_.capacity() + target_.capacity()) * 4; }

 private:
  LabelColumnPtr column_;
  bool identity_ = false;
  bool unique_ = false;
  std::vector<uint32_t> source_;  // if injective, the input element for each output element
  std::vector<uint32_t> target_;  // otherwise, the output element for each input element
};

struct SelectorBinding {
  uint64_t generation = 0;
  bool bound = false;
  std::vector<const Labels*> pointers;  // series pointers, as Series returns them
  std::vector<LabelId> ids;
  struct Flavor {
    bool built = false;
    uint64_t version = 0;  // version of `ids`
    Rename rename;
  };
  uint64_t version = 0;
  Flavor named, nameless;
};

// Binds a selector to the store's current series. Returns an error if there are more than
// max_elements.
StatusOr<SelectorBinding*> BindSelector(Context& context, uint32_t source, uint32_t selector);

// The nodes and operations must outlive the operators.
std::unique_ptr<Operator> MakeDemand(const plan::Node& node, const plan::DomainPlan& domain);
std::unique_ptr<Operator> MakeWindowHistogram(const plan::Node& node,
                                              const plan::DomainPlan& domain);
// Create operations on scalars. The only scalar functions are max_of and min_of.
std::unique_ptr<Operator> MakeScalar(const plan::Number& number);
std::unique_ptr<Operator> MakeScalar(const plan::ParameterValue& parameter);
std::unique_ptr<Operator> MakeScalar(const plan::EvaluationTime& time);
std::unique_ptr<Operator> MakeScalar(const plan::Negation& negation);
std::unique_ptr<Operator> MakeScalar(const plan::BinaryOperation& binary);
std::unique_ptr<Operator> MakeScalar(const plan::FunctionCall& call);
std::unique_ptr<Operator> MakeMatch(const plan::BinaryOperation& binary, LabelTable* table);
std::unique_ptr<Operator> MakeSetOp(const plan::SetOperation& set, LabelTable* table);
std::unique_ptr<Operator> MakeAggregate(const plan::Aggregation& aggregation, LabelTable* table);
// Creates topk and similar aggregations that select elements.
std::unique_ptr<Operator> MakeSelect(const plan::Aggregation& aggregation, LabelTable* table);
std::unique_ptr<Operator> MakeCountValues(const plan::Aggregation& aggregation, LabelTable* table);
std::unique_ptr<Operator> MakeRelabel(
    const plan::FunctionCall& call);  // creates label_replace and label_join
std::unique_ptr<Operator> MakeHistogram(const plan::FunctionCall& call, LabelTable* table);
std::unique_ptr<Operator> MakeHistogramDistance(LabelTable* table);
std::unique_ptr<Operator> MakePeerHistograms(const plan::FunctionCall& call, LabelTable* table);
std::unique_ptr<Operator> MakePeerScore(const plan::FunctionCall& call, LabelTable* table);
std::unique_ptr<Operator> MakePeerRatio(const plan::FunctionCall& call, LabelTable* table);
std::unique_ptr<Operator> MakeBaselineScore();
// Creates an elementwise operation on a vector and scalar operands: negation, a function, or an
// operator. `vector` is the index of the vector among the inputs.
std::unique_ptr<Operator> MakeMap(const plan::Node& node, size_t vector);
std::unique_ptr<Operator> MakeFilter(const plan::BinaryOperation& binary, size_t vector);
// Creates scalar(), vector(), or absent().
std::unique_ptr<Operator> MakeReshape(const plan::FunctionCall& call);

// Returns the column that all scalars use. It has one element without labels.
const LabelColumnPtr& ScalarColumn();

Status TooManyElements(size_t n, size_t limit);
Status SameLabelset();

}  // namespace pitwall::eval
