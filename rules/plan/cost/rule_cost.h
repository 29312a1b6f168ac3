// Cost estimate of rules: state per series, and CPU time. It depends on the plan alone and is
// accurate to a factor of about two (docs/performance.md, "What rules check estimates"), which
// suffices to find a rule that costs ten times too much.
//
// The unit of work is the nanosecond of one core of the machine in docs/performance.md, for one
// series. Each selector is assumed to match the same number of series.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/model/windows/window_state.h"

namespace pitwall::plan {

struct CostOptions {
  int64_t series = 1000;                    // matched by each selector
  int64_t sample_interval = 1'000'000'000;  // time clock: interval between samples of a series; > 0
};

// State that a demand requires in the store, per series.
struct DemandCost {
  int64_t pane = 0;  // position units; 0: no panes
  int64_t panes = 0;
  bool paired = false;   // two panes per `pane`-long interval (services/model/windows/pane_grid.h)
  std::string family;    // "sums", "extremes", …
  bool rescans = false;  // whether each read walks the window
  bool keeps_samples = false;  // keeps every sample of the window instead of a summary per pane
};
DemandCost CostOf(const Demand& demand);

struct WindowCost {
  DemandRef ref;
  DemandCost shape;
  double samples = 0;        // per series in the window
  double state_bytes = 0;    // per series
  double ns_per_second = 0;  // per series; on the step clock: per step
};

struct SubqueryCost {
  uint32_t index = 0;               // index into DomainPlan::subqueries
  int depth = 1;                    // 1: directly in the rule, 2: in a subquery of it, …
  double evaluations = 0;           // of its expression in its longest window
  double evaluations_per_tick = 0;  // between two evaluations of the rule
  double ns_per_second = 0;         // per series: its expression, without windows
};

// Cost classes of architecture.md, section 5, in ascending order.
enum class CostClass { kIncremental, kRescan, kDynamicLabels };
std::string_view CostClassName(CostClass cost_class);

// Cost of the rule without sharing.
struct RuleCost {
  const Rule* rule = nullptr;
  const Group* group = nullptr;
  uint32_t domain = 0;
  bool rescans = false;             // whether some read walks its window
  bool dynamic_labels = false;      // whether labels depend on values: topk, count_values, …
  std::vector<WindowCost> windows;  // without duplicates, ascending
  std::vector<SubqueryCost> subqueries;
  int subquery_depth = 0;
  double state_bytes = 0;               // per series
  double label_bytes = 0;               // included: label values that the expression computes
  double work_ns = 0;                   // per series and evaluation
  double expression_ns_per_second = 0;  // included: everything except windows and subqueries
  CostClass cost_class() const {
    return dynamic_labels ? CostClass::kDynamicLabels
           : rescans      ? CostClass::kRescan
                          : CostClass::kIncremental;
  }
};

// Cost of a file or of the program; windows shared by rules count once.
struct TotalCost {
  std::string file;  // "" for the program
  size_t rules = 0;
  size_t windows = 0;
  double state_bytes = 0;  // for CostOptions::series series per selector
  double cores = 0;        // CPU seconds per second, rules on the time clock
  double ns_per_step = 0;  // CPU time per step, rules on the step clock
};

struct ProgramCost {
  CostOptions options;
  std::vector<RuleCost> rules;  // in program order
  std::vector<TotalCost> files;
  TotalCost total;
};

// The pointers refer to `program`.
ProgramCost EstimateCost(const Program& program, const CostOptions& options = {});

// "12 ns", "3.4 us".
std::string FormatNanos(double nanos);

}  // namespace pitwall::plan
