// A Program for people: what runs, in which order, what it keeps per series and what rules share.
// For `rules check --explain`.
#pragma once

#include <string>

#include "rules/plan/program.h"
#include "services/model/window_cost.h"

namespace pitwall::plan {

std::string Explain(const Program& program);

// What a demand makes the store keep for each series.
struct DemandCost {
  int64_t pane = 0;  // position units; 0: no panes
  int64_t panes = 0;
  bool paired = false;         // two panes each `pane` long stretch (services/model/pane_grid.h)
  WindowBytes bytes;           // of the panes, for each series
  std::string family;          // "sums", "extremes", …
  bool rescans = false;        // each read walks the window
  bool keeps_samples = false;  // every sample of the window, not a summary per pane
};
DemandCost CostOf(const Demand& demand);

}  // namespace pitwall::plan
