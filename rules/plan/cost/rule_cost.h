// Cost estimates for rules: state per series and CPU time. The estimate depends only on the plan
// and is accurate to within a factor of about two (docs/performance.md, "What rules check
// estimates"). This is sufficient to find a rule that costs ten times too much.
//
// The unit of work is one nanosecond of one core of the machine in docs/performance.md, for one
// series. The estimate assumes that each selector matches the same number of series.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/model/windows/window_state.h"

namespace pitwall::plan {

struct CostOptions {
  int64_t series = 1000;  // number of series matched by each selector
  // Interval between a series' samples on the time clock; > 0.
  Duration sample_interval = Duration::Seconds(1);
};

// State that a demand requires in the store, per series.
struct DemandCost {
  Duration pane;  // 0 if there are no panes
  int64_t panes = 0;
  // True if each interval of length `pane` has two panes (services/model/windows/pane_grid.h).
  bool paired = false;
  std::string family;    // family of the state: "sums", "extremes", …
  bool rescans = false;  // true if each read walks the window
  // True if the state keeps every sample of the window instead of a summary per pane.
  bool keeps_samples = false;
};
DemandCost CostOf(const Demand& demand);

struct WindowCost {
  DemandRef ref;
  DemandCost shape;
  double samples = 0;        // number of samples in the window, per series
  double state_bytes = 0;    // per series
  double ns_per_second = 0;  // per series; on the step clock, per step
};

struct SubqueryCost {
  uint32_t index = 0;      // index into DomainPlan::subqueries
  int depth = 1;           // 1 if directly in the rule, 2 if in a subquery of the rule, …
  double evaluations = 0;  // evaluations of its expression in its longest window
  double evaluations_per_tick = 0;  // evaluations between two evaluations of the rule
  double ns_per_second = 0;         // per series, for its expression without windows
};

// Cost classes in ascending order (architecture.md, section 5).
enum class CostClass { kIncremental, kRescan, kDynamicLabels };
std::string_view CostClassName(CostClass cost_class);

// Cost of a rule without sharing.
struct RuleCost {
  const Rule* rule = nullptr;
  const Group* group = nullptr;
  uint32_t domain = 0;
  bool rescans = false;             // true if some read walks its window
  bool dynamic_labels = false;      // true if labels depend on values, as in topk and count_values
  std::vector<WindowCost> windows;  // without duplicates, in ascending order
  std::vector<SubqueryCost> subqueries;
  int subquery_depth = 0;
  double state_bytes = 0;  // per series
  double label_bytes = 0;  // included in state_bytes: label values that the expression computes
  double work_ns = 0;      // per series and evaluation
  // Work other than windows and subqueries; included in work_ns.
  double expression_ns_per_second = 0;
  CostClass cost_class() const {
    return dynamic_labels ? CostClass::kDynamicLabels
           : rescans      ? CostClass::kRescan
                          : CostClass::kIncremental;
  }
};

// Cost of a file or the program. Windows shared by rules count once.
struct TotalCost {
  std::string file;  // "" for the program
  size_t rules = 0;
  size_t windows = 0;
  double state_bytes = 0;  // for CostOptions::series series per selector
  double cores = 0;        // CPU seconds per second for rules on the time clock
  double ns_per_step = 0;  // CPU time per step for rules on the step clock
};

struct ProgramCost {
  CostOptions options;
  std::vector<RuleCost> rules;  // in program order
  std::vector<TotalCost> files;
  TotalCost total;
};

// Estimates the cost of all rules. The pointers in the result refer to `program`.
ProgramCost EstimateCost(const Program& program, const CostOptions& options = {});

// Formats a duration like "12 ns" or "3.4 us".
std::string FormatNanos(double nanos);

}  // namespace pitwall::plan
