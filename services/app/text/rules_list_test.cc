#include "services/app/text/rules_list.h"

#include <gtest/gtest.h>

#include "rules/plan/compile.h"

namespace pitwall {
namespace {

constexpr char kRules[] = R"(
groups:
- name: g
  interval: 500ms
  rules:
  - alert: Low
    params: {low: 0.3}
    expr: x < $low
    for: 90s
    clear: x > 0.5
    needs: [x]
    labels: {severity: warning}
    annotations: {summary: "say \"{{ $value }}\""}
  - record: y
    expr: sum(x)
- name: s
  clock: step
  interval: 10
  rules:
  - alert: Nan
    expr: train_loss != train_loss
)";

TEST(RuleList, RulesAsJson_EveryField_IsPrinted) {
  const RuleSetFile file{"pack.yaml", kRules};
  const auto program = plan::CompileRules({&file, 1});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(
      RulesAsJson(**program),
      R"j([{"rule":"pack/g/Low","kind":"alert","name":"Low","file":"pack.yaml","line":6,)j"
      R"j("clock":"time","interval":0.5,"expr":"x < $low","for":90,"keep_firing_for":0,)j"
      R"j("clear":"x > 0.5","scope":"job","parameters":{"low":{"default":0.3}},"needs":["x"],)j"
      R"j("labels":{"severity":"warning"},"annotations":{"summary":"say \"{{ $value }}\""}},)j"
      R"j({"rule":"pack/g/y","kind":"record","name":"y","file":"pack.yaml","line":14,)j"
      R"j("clock":"time","interval":0.5,"expr":"sum(x)"},)j"
      R"j({"rule":"pack/s/Nan","kind":"alert","name":"Nan","file":"pack.yaml","line":20,)j"
      R"j("clock":"step","mode":"train","interval":10,"expr":"train_loss != train_loss","for":0,)j"
      R"j("keep_firing_for":0,"scope":"attempt","needs":["train_loss"]}])j");
  EXPECT_EQ(RulesAsTable(**program),
            "pack/g/Low  time  for 1m30s  low=0.3  needs x\n"
            "pack/g/y  time  for 0s\n"
            "pack/s/Nan  step:train  for 0 steps  needs train_loss\n");
  EXPECT_EQ(RulesAsJson(plan::Program()), "[]");
}

}  // namespace
}  // namespace pitwall
