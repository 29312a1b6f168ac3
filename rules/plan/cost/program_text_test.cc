#include "rules/plan/cost/program_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "services/base/text/strings.h"

namespace pitwall::plan {
namespace {

using ::testing::HasSubstr;

ProgramPtr Compile(std::string_view text) {
  const RuleSetFile files[] = {{"dir/p.yaml", std::string(text)}};
  const StatusOr<ProgramPtr> program = CompileRules(files);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : std::make_shared<Program>();
}

TEST(Explain, ShowsPlanAndCost) {
  const ProgramPtr program = Compile(R"(groups:
- name: g
  interval: 1s
  rules:
  - alert: A
    params: {low: 1}
    expr: avg_over_time(a[1m]) > $low
    for: 30s
  - alert: B
    expr: avg_over_time(a[1m]) * 2 > quantile_over_time(0.5, b[30s] offset 10s)
)");
  EXPECT_EQ(Explain(*program), Cat("rule set ", program->hash, R"(
clock time: 1 groups, 2 rules, 8 nodes, 2 selectors, 4 windows for 6 uses
  group p/g every 1s, look-back 5m
    alert p/g/A (dir/p.yaml:5)
      expr: avg_over_time(a[1m]) > $low
      for: 30s
      scope: job
      watches: avg_over_time(a[1m])
      threshold: $low
      needs: a
      parameter low = 1
      cost: incremental, 952 B of state and 16.2 ns an evaluation for each series
      window 0: avg_over_time of a over 1m: sums, incremental, 60 panes of 1s a series; 909 B, 11.9 ns, shared by 2 rules
      window 1: last of a, look-back 5m: newest sample, incremental; 25 B, 3.3 ns, shared by 2 rules
    alert p/g/B (dir/p.yaml:9)
      expr: (avg_over_time(a[1m]) * 2) > quantile_over_time(0.5, b[30s] offset 10s)
      scope: job
      watches: avg_over_time(a[1m]) * 2
      needs: a, b
      cost: incremental, 1.51 KiB of state and 65.3 ns an evaluation for each series
      window 0: avg_over_time of a over 1m: sums, incremental, 60 panes of 1s a series; 909 B, 11.9 ns, shared by 2 rules
      window 1: last of a, look-back 5m: newest sample, incremental; 25 B, 3.3 ns, shared by 2 rules
      window 2: quantile_over_time of b over 30s, with 0.5, offset 10s: ordered, incremental, 40 panes of 1s a series, keeps every sample; 553 B, 41.8 ns
      window 3: last of b, look-back 5m: newest sample, incremental; 25 B, 3.3 ns
file dir/p.yaml: 2 rules, 4 windows; with 1000 series a selector 1.49 MiB of state, 0.00663 % of a core
)"));
}

TEST(Explain, ShowsCostOfNonPromqlWindows) {
  const ProgramPtr program = Compile(R"(groups:
- name: g
  interval: 1s
  rules:
  - alert: A
    expr: baseline_zscore(a[first 200 samples after 20]) > 3
    needs: []
  - alert: B
    expr: share_over_time(a[5m]) > outlier_period_over_time(a[50 samples], 3)
    needs: []
  - alert: C
    expr: sum_over_time((peer_zscore(a) > bool 3.5)[10m:1m]) >= 3
    needs: []
)");
  const std::string text = Explain(*program);
  for (const std::string_view line :
       {"quantile_over_time of a over the first 200 samples of the attempt after 20 others, with "
        "0.5: "
        "ordered, incremental, keeps every sample; 3.17 KiB",
        "mad_over_time of a over the first 200 samples of the attempt after 20 others: "
        "ordered, incremental, keeps every sample; 3.17 KiB",
        "share_over_time of a over 5m: states, incremental, keeps every change; ",
        "outlier_period_over_time of a over 50 samples, with 3: samples, rescan, keeps every "
        "sample; 2.05 KiB",
        "window 0/0: sum_over_time of subquery 0 over 10m: sums, incremental, 600 panes of 1s a "
        "series; ",
        "subquery 0: peer_zscore(a) > bool 3.5 every 1m: 10 evaluations in its window, 0.0167 "
        "between two of the rule\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace pitwall::plan
