// Estimated cost of rules: state for each series, and CPU time. Follows from the plan alone, and is
// right to a factor of about two (docs/performance.md, "What rules check estimates"): enough to
// find a rule that costs ten times more than it should.
//
// The unit of work is the nanosecond of one core of the machine of docs/performance.md, for one
// series; a machine twice as fast needs half. Each selector is taken to match as many series.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/model/windows/window_state.h"

namespace pitwall::plan {

struct CostOptions {
  int64_t series = 1000;                    // that each selector matches
  int64_t sample_interval = 1'000'000'000;  // time clock: between two samples of a series; > 0
};

// What a demand makes the store keep for each series.
struct DemandCost {
  int64_t pane = 0;  // position units; 0: no panes
  int64_t panes = 0;
  bool paired = false;   // two panes each `pane` long stretch (services/model/windows/pane_grid.h)
  std::string family;    // "sums", "extremes", …
  bool rescans = false;  // each read walks the window
  bool keeps_samples = false;  // every sample of the window, not a summary per pane
};
DemandCost CostOf(const Demand& demand);

struct WindowCost {
  DemandRef ref;
  DemandCost shape;
  double samples = 0;        // of one series in the window
  double state_bytes = 0;    // of one series
  double ns_per_second = 0;  // of one series; on the step clock: per step
};

struct SubqueryCost {
  uint32_t index = 0;               // in DomainPlan::subqueries
  int depth = 1;                    // 1: is in the rule itself, 2: in a subquery of it, …
  double evaluations = 0;           // of its expression in its longest window
  double evaluations_per_tick = 0;  // between two evaluations of the rule
  double ns_per_second = 0;         // of one series: its expression, without windows
};

// Cost classes of architecture.md, section 5; dearer ones last.
enum class CostClass { kIncremental, kRescan, kDynamicLabels };
std::string_view CostClassName(CostClass cost_class);

// As if it were the only rule.
struct RuleCost {
  const Rule* rule = nullptr;
  const Group* group = nullptr;
  uint32_t domain = 0;
  bool rescans = false;         // some read walks its window
  bool dynamic_labels = false;  // which labels there are depends on values: topk, count_values, …
  std::vector<WindowCost> windows;  // each once, ascending
  std::vector<SubqueryCost> subqueries;
  int subquery_depth = 0;
  double state_bytes = 0;               // of one series
  double label_bytes = 0;               // of that: label values that the expression computes
  double work_ns = 0;                   // of one series and evaluation
  double expression_ns_per_second = 0;  // of that: what is not windows and subqueries
  CostClass cost_class() const {
    return dynamic_labels ? CostClass::kDynamicLabels
           : rescans      ? CostClass::kRescan
                          : CostClass::kIncremental;
  }
};

// Of a file, or of the program: windows that rules share count once.
struct TotalCost {
  std::string file;  // "": the program
  size_t rules = 0;
  size_t windows = 0;
  double state_bytes = 0;  // of CostOptions::series series a selector
  double cores = 0;        // CPU seconds per second, rules on the time clock
  double ns_per_step = 0;  // CPU time per step, rules on the step clock
};

struct ProgramCost {
  CostOptions options;
  std::vector<RuleCost> rules;  // in the program's order
  std::vector<TotalCost> files;
  TotalCost total;
};

// The pointers are into `program`.
ProgramCost EstimateCost(const Program& program, const CostOptions& options = {});

// "12 ns", "3.4 us".
std::string FormatNanos(double nanos);

}  // namespace pitwall::plan
