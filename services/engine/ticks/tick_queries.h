// Executor for queries in rule templates. Private to the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/templates/template.h"

namespace pitwall::engine {

// Executes template queries against the evaluator's data at the tick. Each distinct query runs
// once.
class TickQueries final : public templates::TemplateQueries {
 public:
  using Samples = std::vector<templates::QuerySample>;
  explicit TickQueries(eval::Evaluator* evaluator) : evaluator_(evaluator) {}

  StatusOr<std::shared_ptr<const Samples>> Run(uint32_t node) override {
    std::shared_ptr<const Samples>& known = results_[node];
    if (known != nullptr) return known;
    ASSIGN_OR_RETURN(const eval::Vector* vector, evaluator_->Evaluate(plan::NodeId(node)));
    auto samples = std::make_shared<Samples>();
    for (size_t i = 0; i < vector->size(); ++i) {
      if (vector->present[i]) samples->push_back({vector->labels(i), vector->values[i]});
    }
    std::stable_sort(samples->begin(), samples->end(),
                     [](const auto& a, const auto& b) { return a.labels < b.labels; });
    known = std::move(samples);
    return known;
  }

 private:
  eval::Evaluator* const evaluator_;
  std::map<uint32_t, std::shared_ptr<const Samples>> results_;
};

}  // namespace pitwall::engine
