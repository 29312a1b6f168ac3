#include "rules/plan/function_tables.h"

#include <utility>

namespace pitwall::plan {
namespace {

constexpr std::pair<std::string_view, WindowFunction> kWindowFunctions[] = {
    {"avg_over_time", WindowFunction::kAvg},
    {"sum_over_time", WindowFunction::kSum},
    {"count_over_time", WindowFunction::kCount},
    {"present_over_time", WindowFunction::kPresent},
    {"stddev_over_time", WindowFunction::kStddev},
    {"stdvar_over_time", WindowFunction::kStdvar},
    {"min_over_time", WindowFunction::kMin},
    {"max_over_time", WindowFunction::kMax},
    {"last_over_time", WindowFunction::kLastOverTime},
    {"first_over_time", WindowFunction::kFirstOverTime},
    {"rate", WindowFunction::kRate},
    {"increase", WindowFunction::kIncrease},
    {"delta", WindowFunction::kDelta},
    {"irate", WindowFunction::kIrate},
    {"idelta", WindowFunction::kIdelta},
    {"resets", WindowFunction::kResets},
    {"changes", WindowFunction::kChanges},
    {"ts_of_first_over_time", WindowFunction::kTsOfFirst},
    {"ts_of_last_over_time", WindowFunction::kTsOfLast},
    {"ts_of_min_over_time", WindowFunction::kTsOfMin},
    {"ts_of_max_over_time", WindowFunction::kTsOfMax},
    {"deriv", WindowFunction::kDeriv},
    {"quantile_over_time", WindowFunction::kQuantile},
    {"mad_over_time", WindowFunction::kMad},
    {"double_exponential_smoothing", WindowFunction::kSmoothing},
    {"share_over_time", WindowFunction::kShare},
    {"outlier_period_over_time", WindowFunction::kOutlierPeriod},
    {"sketch_quantile_over_time", WindowFunction::kSketchQuantile},
    {"outliers_over_time", WindowFunction::kOutliers},
    {"robust_deriv", WindowFunction::kRobustDeriv},
    {"kendall_tau_over_time", WindowFunction::kKendallTau},
    {"histogram_over_time", WindowFunction::kHistogram},
};

constexpr std::pair<std::string_view, FunctionId> kElementFunctions[] = {
    {"abs", FunctionId::kAbs},
    {"ceil", FunctionId::kCeil},
    {"floor", FunctionId::kFloor},
    {"exp", FunctionId::kExp},
    {"ln", FunctionId::kLn},
    {"log2", FunctionId::kLog2},
    {"log10", FunctionId::kLog10},
    {"sqrt", FunctionId::kSqrt},
    {"sgn", FunctionId::kSgn},
    {"round", FunctionId::kRound},
    {"clamp", FunctionId::kClamp},
    {"clamp_min", FunctionId::kClampMin},
    {"clamp_max", FunctionId::kClampMax},
    {"scalar", FunctionId::kScalar},
    {"vector", FunctionId::kVector},
    {"absent", FunctionId::kAbsent},
    {"timestamp", FunctionId::kTimestampOf},
    {"acos", FunctionId::kAcos},
    {"acosh", FunctionId::kAcosh},
    {"asin", FunctionId::kAsin},
    {"asinh", FunctionId::kAsinh},
    {"atan", FunctionId::kAtan},
    {"atanh", FunctionId::kAtanh},
    {"cos", FunctionId::kCos},
    {"cosh", FunctionId::kCosh},
    {"sin", FunctionId::kSin},
    {"sinh", FunctionId::kSinh},
    {"tan", FunctionId::kTan},
    {"tanh", FunctionId::kTanh},
    {"deg", FunctionId::kDeg},
    {"rad", FunctionId::kRad},
    {"minute", FunctionId::kMinute},
    {"hour", FunctionId::kHour},
    {"day_of_week", FunctionId::kDayOfWeek},
    {"day_of_month", FunctionId::kDayOfMonth},
    {"day_of_year", FunctionId::kDayOfYear},
    {"days_in_month", FunctionId::kDaysInMonth},
    {"month", FunctionId::kMonth},
    {"year", FunctionId::kYear},
    {"max_of", FunctionId::kMaxOf},
    {"min_of", FunctionId::kMinOf},
    {"label_replace", FunctionId::kLabelReplace},
    {"label_join", FunctionId::kLabelJoin},
    {"histogram_quantile", FunctionId::kHistogramQuantile},
    {"histogram_fraction", FunctionId::kHistogramFraction},
    {"histogram_quantiles", FunctionId::kHistogramQuantiles},
    {"histogram_distance", FunctionId::kHistogramDistance},
    {"peer_zscore", FunctionId::kPeerScore},
    {"peer_histogram_distance", FunctionId::kPeerHistograms},
};

}  // namespace

std::optional<WindowFunction> FindWindowFunction(std::string_view name) {
  for (const auto& [text, function] : kWindowFunctions) {
    if (text == name) return function;
  }
  return std::nullopt;
}

std::string_view WindowFunctionName(WindowFunction function) {
  for (const auto& [text, known] : kWindowFunctions) {
    if (known == function) return text;
  }
  if (function == WindowFunction::kIntercept) return "predict_linear";
  return function == WindowFunction::kTimestamp ? "timestamp" : "last";
}

std::optional<FunctionId> FindElementFunction(std::string_view name) {
  for (const auto& [text, function] : kElementFunctions) {
    if (text == name) return function;
  }
  return std::nullopt;
}

}  // namespace pitwall::plan
