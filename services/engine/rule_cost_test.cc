// Test that compares the cost estimate in rules/plan with allocations in services/window. Lives
// here because rules/ cannot access services/window.
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "rules/plan/cost/rule_cost.h"
#include "services/base/text/strings.h"
#include "services/model/windows/linear_bounds.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Returns the bytes per series in a store with the windows of this expression and one sample every
// `apart` ns.
double Measured(const plan::ProgramPtr& program, int64_t apart) {
  constexpr size_t kSeries = 200;
  window::SeriesStore store(std::shared_ptr<const DemandSet>(program, &program->domains[0].demands),
                            window::Limits{});
  std::vector<window::SeriesId> ids;
  std::vector<double> values;
  for (size_t i = 0; i < kSeries; ++i) {
    ids.push_back(*store.Intern(Labels::FromPairs({{"__name__", "m"}, {"i", std::to_string(i)}})));
  }
  values.resize(kSeries);
  uint64_t row = 0;
  for (int64_t tick = kSecond; tick <= 700 * kSecond; tick += kSecond) {
    for (int64_t at = tick - kSecond + apart; at <= tick; at += apart) {
      for (size_t i = 0; i < kSeries; ++i)
        values[i] = static_cast<double>((row * 2654435761u + i * 40503u) % 1000);
      EXPECT_TRUE(store.Append({Position::FromNs(at), "test", "", row++, 0}, ids, values).ok());
    }
    store.SealTo(Position::FromNs(tick));
    store.BeginTick(Position::FromNs(tick));
    for (uint32_t d = 0; d < program->domains[0].demands.demands.size(); ++d) {
      const std::vector<double> arguments = {0.5, 0.5};
      const std::vector<double> bounds = LinearBounds(0, 1, 200);
      const WindowFunction function = program->domains[0].demands.demands[d].function;
      // robust_deriv reads all pairs of samples and caches no results, so it is enough to read its
      // last ticks.
      if (function == WindowFunction::kRobustDeriv && tick < 698 * kSecond) continue;
      store.results().Read(d, function == WindowFunction::kHistogram ? std::span(bounds)
                              : function == WindowFunction::kQuantile
                                  ? std::span(arguments).first(1)
                                  : std::span(arguments));
    }
  }
  return static_cast<double>(store.MemoryBytes()) / static_cast<double>(kSeries);
}

plan::ProgramPtr Record(std::string_view expr) {
  const RuleSetFile file{
      "p.yaml",
      Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n  - record: r\n    expr: ", expr, "\n")};
  auto program = plan::CompileRules({&file, 1});
  EXPECT_TRUE(program.ok()) << program.status();
  return *program;
}

// ThreadSanitizer tracks every access. In this single-threaded test, a few samples suffice.
#ifdef __SANITIZE_THREAD__
constexpr int64_t kApart[] = {kSecond};
#else
constexpr int64_t kApart[] = {kSecond, kSecond / 4};
#endif

TEST(RuleCost, EstimateMatchesStoreAllocations) {
  for (const int64_t apart : kApart) {
    // Cost of a series that has only its newest sample.
    const double base = Measured(Record("m"), apart);
    for (const char* expr :
         {"sum_over_time(m[1m])", "sum_over_time(m[10m])", "stddev_over_time(m[5m])",
          "max_over_time(m[5m])", "rate(m[5m])", "irate(m[5m])", "changes(m[5m])", "deriv(m[5m])",
          "ts_of_max_over_time(m[5m])", "sum_over_time(m[1m] offset 4m)", "m offset 5m",
          "quantile_over_time(0.5, m[5m])", "mad_over_time(m[5m])",
          "double_exponential_smoothing(m[5m], 0.5, 0.5)", "avg_over_time(m[100 samples])",
          "robust_deriv(m[5m])", "histogram_over_time(m[1m], 0, 1, 200)"}) {
      const plan::ProgramPtr program = Record(expr);
      const double estimate =
          plan::EstimateCost(*program, {.sample_interval = Duration::Nanos(apart)})
              .rules.at(0)
              .windows.at(0)
              .state_bytes;
      const double measured = Measured(program, apart) - base;
      std::printf("%-46s every %4d ms: estimate %7.0f, measured %7.0f bytes a series\n", expr,
                  static_cast<int>(apart / 1'000'000), estimate, measured);
      EXPECT_GT(estimate, measured * 0.75) << expr;
      EXPECT_LT(estimate, measured * 1.25) << expr;
    }
  }
}

}  // namespace
}  // namespace pitwall::engine
