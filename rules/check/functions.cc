#include "rules/check/types.h"

#include <algorithm>

namespace pitwall::check {
namespace {

constexpr Type kScalar = Type::kScalar;
constexpr Type kVector = Type::kVector;
constexpr Type kMatrix = Type::kMatrix;
constexpr Type kString = Type::kString;

// Sorted by name.
const std::vector<FunctionInfo>& Table() {
  static const auto* const kTable = new std::vector<FunctionInfo>{
      {"abs", {kVector}, 0, kVector, true},
      {"absent", {kVector}, 0, kVector, true},
      {"absent_over_time", {kMatrix}, 0, kVector, true},
      {"acos", {kVector}, 0, kVector, true},
      {"acosh", {kVector}, 0, kVector, true},
      {"asin", {kVector}, 0, kVector, true},
      {"asinh", {kVector}, 0, kVector, true},
      {"atan", {kVector}, 0, kVector, true},
      {"atanh", {kVector}, 0, kVector, true},
      {"avg_over_time", {kMatrix}, 0, kVector, true},
      {"baseline_zscore", {kMatrix, kVector}, 1, kVector, true},
      {"ceil", {kVector}, 0, kVector, true},
      {"changes", {kMatrix}, 0, kVector, true},
      {"clamp", {kVector, kScalar, kScalar}, 0, kVector, true},
      {"clamp_max", {kVector, kScalar}, 0, kVector, true},
      {"clamp_min", {kVector, kScalar}, 0, kVector, true},
      {"cos", {kVector}, 0, kVector, true},
      {"cosh", {kVector}, 0, kVector, true},
      {"count_over_time", {kMatrix}, 0, kVector, true},
      {"day_of_month", {kVector}, 1, kVector, true},
      {"day_of_week", {kVector}, 1, kVector, true},
      {"day_of_year", {kVector}, 1, kVector, true},
      {"days_in_month", {kVector}, 1, kVector, true},
      {"deg", {kVector}, 0, kVector, true},
      {"delta", {kMatrix}, 0, kVector, true},
      {"deriv", {kMatrix}, 0, kVector, true},
      {"double_exponential_smoothing", {kMatrix, kScalar, kScalar}, 0, kVector, true},
      {"end", {}, 0, kScalar, false},
      {"exp", {kVector}, 0, kVector, true},
      {"first_over_time", {kMatrix}, 0, kVector, true},
      {"floor", {kVector}, 0, kVector, true},
      {"histogram_avg", {kVector}, 0, kVector, false},
      {"histogram_count", {kVector}, 0, kVector, false},
      {"histogram_distance", {kVector, kVector}, 0, kVector, true},
      {"histogram_fraction", {kScalar, kScalar, kVector}, 0, kVector, true},
      {"histogram_over_time", {kMatrix, kScalar, kScalar, kScalar}, 0, kVector, true},
      {"histogram_quantile", {kScalar, kVector}, 0, kVector, true},
      {"histogram_quantiles", {kVector, kString, kScalar, kScalar}, 9, kVector, true},
      {"histogram_stddev", {kVector}, 0, kVector, false},
      {"histogram_stdvar", {kVector}, 0, kVector, false},
      {"histogram_sum", {kVector}, 0, kVector, false},
      {"hour", {kVector}, 1, kVector, true},
      {"idelta", {kMatrix}, 0, kVector, true},
      {"increase", {kMatrix}, 0, kVector, true},
      {"info", {kVector, kVector}, 1, kVector, false},
      {"irate", {kMatrix}, 0, kVector, true},
      {"kendall_tau_over_time", {kMatrix}, 0, kVector, true},
      {"label_join", {kVector, kString, kString, kString}, -1, kVector, true},
      {"label_replace", {kVector, kString, kString, kString, kString}, 0, kVector, true},
      {"last_over_time", {kMatrix}, 0, kVector, true},
      {"ln", {kVector}, 0, kVector, true},
      {"log10", {kVector}, 0, kVector, true},
      {"log2", {kVector}, 0, kVector, true},
      {"mad_over_time", {kMatrix}, 0, kVector, true},
      {"max_of", {kScalar, kScalar}, 0, kScalar, true},
      {"max_over_time", {kMatrix}, 0, kVector, true},
      {"min_of", {kScalar, kScalar}, 0, kScalar, true},
      {"min_over_time", {kMatrix}, 0, kVector, true},
      {"minute", {kVector}, 1, kVector, true},
      {"month", {kVector}, 1, kVector, true},
      {"outlier_period_over_time", {kMatrix, kScalar}, 0, kVector, true},
      {"outliers_over_time", {kMatrix, kScalar}, 0, kVector, true},
      {"peer_histogram_distance", {kVector, kString}, -1, kVector, true},
      {"peer_zscore", {kVector, kString}, -1, kVector, true},
      {"pi", {}, 0, kScalar, true},
      {"predict_linear", {kMatrix, kScalar}, 0, kVector, true},
      {"present_over_time", {kMatrix}, 0, kVector, true},
      {"quantile_over_time", {kScalar, kMatrix}, 0, kVector, true},
      {"rad", {kVector}, 0, kVector, true},
      {"range", {}, 0, kScalar, false},
      {"rate", {kMatrix}, 0, kVector, true},
      {"resets", {kMatrix}, 0, kVector, true},
      {"robust_deriv", {kMatrix}, 0, kVector, true},
      {"round", {kVector, kScalar}, 1, kVector, true},
      {"scalar", {kVector}, 0, kScalar, true},
      {"sgn", {kVector}, 0, kVector, true},
      {"share_over_time", {kMatrix}, 0, kVector, true},
      {"sin", {kVector}, 0, kVector, true},
      {"sinh", {kVector}, 0, kVector, true},
      {"sketch_quantile_over_time", {kScalar, kMatrix}, 0, kVector, true},
      {"sort", {kVector}, 0, kVector, true},
      {"sort_by_label", {kVector, kString}, -1, kVector, true},
      {"sort_by_label_desc", {kVector, kString}, -1, kVector, true},
      {"sort_desc", {kVector}, 0, kVector, true},
      {"sqrt", {kVector}, 0, kVector, true},
      {"start", {}, 0, kScalar, false},
      {"start_timestamp", {kVector}, 0, kVector, false},
      {"stddev_over_time", {kMatrix}, 0, kVector, true},
      {"stdvar_over_time", {kMatrix}, 0, kVector, true},
      {"step", {}, 0, kScalar, false},
      {"sum_over_time", {kMatrix}, 0, kVector, true},
      {"tan", {kVector}, 0, kVector, true},
      {"tanh", {kVector}, 0, kVector, true},
      {"time", {}, 0, kScalar, true},
      {"timestamp", {kVector}, 0, kVector, true},
      {"ts_of_first_over_time", {kMatrix}, 0, kVector, true},
      {"ts_of_last_over_time", {kMatrix}, 0, kVector, true},
      {"ts_of_max_over_time", {kMatrix}, 0, kVector, true},
      {"ts_of_min_over_time", {kMatrix}, 0, kVector, true},
      {"vector", {kScalar}, 0, kVector, true},
      {"year", {kVector}, 1, kVector, true},
  };
  return *kTable;
}

}  // namespace

std::span<const FunctionInfo> AllFunctions() { return Table(); }

const FunctionInfo* FindFunction(std::string_view name) {
  const auto found =
      std::lower_bound(Table().begin(), Table().end(), name,
                       [](const FunctionInfo& f, std::string_view n) { return f.name < n; });
  return found != Table().end() && found->name == name ? &*found : nullptr;
}

bool NeedsEverySample(std::string_view function) {
  constexpr std::string_view kNeed[] = {
      "baseline_zscore",     "double_exponential_smoothing",
      "histogram_over_time", "kendall_tau_over_time",
      "mad_over_time",       "outlier_period_over_time",
      "outliers_over_time",  "quantile_over_time",
      "robust_deriv",
  };
  return std::find(std::begin(kNeed), std::end(kNeed), function) != std::end(kNeed);
}

}  // namespace pitwall::check
