#include "services/app/text/rule_markdown.h"

#include <gtest/gtest.h>

#include "rules/plan/compile.h"

namespace pitwall {
namespace {

TEST(RuleMarkdown, TemplateAsProse_Actions_BecomeBracketedPlaceholders) {
  EXPECT_EQ(TemplateAsProse("GPU {{ $labels.gpu }} is {{ $value | humanizePercentage }} busy"),
            "GPU <gpu> is <value> busy");
  EXPECT_EQ(TemplateAsProse("step {{- $step -}} over {{ printf \"%.1f\" $params.factor }}"),
            "step <step> over <factor>");
  EXPECT_EQ(TemplateAsProse("{{ if $labels.node }}on {{ $labels.node }}{{ end }}"), "on <node>");
  EXPECT_EQ(TemplateAsProse("never closed {{ $value"), "never closed {{ $value");
}

TEST(RuleMarkdown, RulesAsMarkdown_Alert_IncludesEverySection) {
  constexpr char kRules[] = R"(groups:
- name: g
  interval: 500ms
  rules:
  - record: y
    expr: sum(x) or z
  - alert: Low
    params: {low: {value: 0.3, unit: ratio, help: below | is idle}, plain: 2}
    expr: x < $low / $plain
    for: 90s
    clear: x > 0.5
    needs: [x]
    explains: [Slow, {alert: Idle, equal: [node, gpu], within: 2m}]
    labels: {severity: warning, category: bottleneck}
    annotations:
      summary: "GPU {{ $labels.gpu }} idles"
      description: |
        Over
        one minute.
      suggestion: Look.
- name: s
  clock: step
  interval: 1
  rules:
  - alert: Nan
    expr: train_loss != train_loss
    for: 10
)";
  const RuleSetFile file{"pack.yaml", kRules};
  const auto program = plan::CompileRules({&file, 1});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(RulesAsMarkdown(**program), R"(## pack

### Low

GPU <gpu> idles

Over one minute.

**What to do.** Look.

| | |
|---|---|
| rule | `pack/g/Low` |
| severity | warning |
| category | bottleneck |
| evaluated | on the time clock, every 500ms, for 1m30s |
| fires when | `x < ($low / $plain)` |
| ends when | `x > 0.5` |
| needs | `x` |
| explains | Slow, Idle (same node, gpu; begun within 2m) |

| parameter | default | unit | |
|---|---|---|---|
| `low` | 0.3 | ratio | below \| is idle |
| `plain` | 2 |  |  |

### Nan

| | |
|---|---|
| rule | `pack/s/Nan` |
| evaluated | on the step clock (train), every 1 step, for 10 steps, ends with the attempt |
| fires when | `train_loss != train_loss` |
| needs | `train_loss` |

Recorded:

| series | every | from |
|---|---|---|
| `y` | 500ms | `sum(x) or z` |

)");
}

}  // namespace
}  // namespace pitwall
