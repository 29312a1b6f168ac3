#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/plan/compile.h"
#include "rules/plan/program/shown_text.h"
#include "services/base/text/strings.h"
#include "services/model/windows/function_table.h"

namespace pitwall::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

ProgramPtr Compile(std::string_view text, std::string_view name = "dir/p.yaml") {
  const RuleSetFile files[] = {{std::string(name), std::string(text)}};
  const StatusOr<ProgramPtr> program = CompileRules(files);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : std::make_shared<Program>();
}

// Compiles a group with one alert on this expression, evaluated every second.
ProgramPtr CompileExpr(std::string_view expr) {
  return Compile(
      Cat("groups:\n- name: g\n  interval: 1s\n  rules:\n  - alert: A\n    expr: ", expr, "\n"));
}

const Rule& FirstRule(const Program& program) {
  return program.domains.at(0).groups.at(0).rules.at(0);
}
const Node& At(const Program& program, NodeId id) {
  return program.domains.at(0).nodes.at(id.index());
}
const Node& Root(const Program& program) { return At(program, FirstRule(program).expr); }
const Demand& DemandOf(const Program& program, const Node& node) {
  return DemandAt(program.domains.at(0), std::get<DemandColumn>(node.operation).ref);
}
FunctionCall CallAtRoot(const Program& program) {
  return std::get<FunctionCall>(Root(program).operation);
}

std::vector<std::string> Texts(const Program& program, const std::vector<NodeId>& ids) {
  std::vector<std::string> out;
  for (const NodeId id : ids) out.push_back(At(program, id).text);
  return out;
}

TEST(Planner, InputsPrecedeTheirNodes) {
  const ProgramPtr program =
      CompileExpr("-(a + b * 2) > on (x) group_left (y) sum by (x) (rate(c[5m])) and d or e");
  for (const DomainPlan& domain : program->domains) {
    for (size_t i = 0; i < domain.nodes.size(); ++i) {
      for (const NodeId input : domain.nodes[i].inputs) EXPECT_LT(input.index(), i);
    }
  }
}

TEST(Planner, NodesHaveOperatorsAndMatchingOfExpression) {
  const ProgramPtr program = CompileExpr(
      "quantile without (z, y) (0.9, a) >= bool ignoring (x) group_right (v, w) -b offset 5m");
  const Node& root = Root(*program);
  const auto& comparison = std::get<BinaryOperation>(root.operation);
  EXPECT_EQ(comparison.op, BinaryOp::kGe);
  EXPECT_TRUE(comparison.return_bool);
  EXPECT_FALSE(comparison.matching.on);
  EXPECT_THAT(comparison.matching.labels, ElementsAre("x"));
  EXPECT_EQ(comparison.matching.cardinality, Cardinality::kOneToMany);
  EXPECT_THAT(comparison.matching.include, ElementsAre("v", "w"));
  const Node& left = At(*program, root.inputs[0]);
  const auto& quantile = std::get<Aggregation>(left.operation);
  EXPECT_EQ(quantile.op, AggregateOp::kQuantile);
  EXPECT_TRUE(quantile.without);
  EXPECT_THAT(quantile.grouping, ElementsAre("y", "z"));
  EXPECT_EQ(std::get<Number>(At(*program, left.inputs[1]).operation).value, 0.9);
  const Node& right = At(*program, root.inputs[1]);
  EXPECT_NE(right.As<Negation>(), nullptr);
  const Demand& demand = DemandOf(*program, At(*program, right.inputs[0]));
  EXPECT_EQ(demand.offset, 300 * kSecond);
  EXPECT_EQ(demand.lookback, kDefaultLookback);
  EXPECT_EQ(demand.interval, kSecond);
}

// Returns an argument of the type that rules/check and the planner expect.
std::string ArgumentText(const ArgumentRow& row) {
  switch (row.type) {
    case ExprType::kScalar:
      return row.bound.Holds(0.5) ? "0.5" : "1";
    case ExprType::kVector:
      return "(a)";
    case ExprType::kMatrix:
      return "a[5m]";
    case ExprType::kString:
      return "\"b\"";
  }
  return "";
}

std::string CallOf(const FunctionRow& function) {
  std::vector<std::string> arguments;
  for (const ArgumentRow& row : function.arguments) arguments.push_back(ArgumentText(row));
  if (function.name == "histogram_over_time") arguments = {"a[5m]", "0", "0.5", "8"};
  return Cat(function.name, "(", Join(arguments, ", "), ")");
}

TEST(Planner, PlansEveryWindowFunction) {
  for (const FunctionRow* function : Functions()) {
    if (!function->window.has_value()) continue;
    SCOPED_TRACE(function->name);
    const ProgramPtr program = CompileExpr(Cat(CallOf(*function), " > 0.25"));
    const Node& node = At(*program, FirstRule(*program).comparison.subject);
    const auto* column = node.As<DemandColumn>();
    ASSERT_NE(column, nullptr);
    const Demand& demand = DemandOf(*program, node);
    EXPECT_EQ(RowOf(demand.function).name, function->name);
    EXPECT_EQ(demand.kind, WindowKind::kTime);
    EXPECT_EQ(demand.range, 300 * kSecond);
    EXPECT_EQ(demand.lookback, function->name == "share_over_time" ? kDefaultLookback : 0);
    EXPECT_EQ(column->keep_name,
              function->name == "last_over_time" || function->name == "first_over_time");
  }
}

// The planner must support everything that rules/check accepts.
TEST(Planner, PlansEverySupportedFunction) {
  for (const FunctionRow* function : Functions()) {
    if (function->support != Support::kYes) continue;
    const ProgramPtr program = CompileExpr(CallOf(*function));
    EXPECT_EQ(Root(*program).type, ValueType::kVector) << function->name;
  }
}

// A baseline score is planned as the same nodes as the handwritten expression, so both share them.
TEST(Planner, BaselineScoreSharesHandwrittenNodes) {
  const ProgramPtr program = CompileExpr(
      "baseline_zscore(a[first 200 samples after 20]) > 3 and "
      "quantile_over_time(0.5, a[first 200 samples after 20]) > 0 and a > 0");
  const DomainPlan& domain = program->domains[0];
  ASSERT_EQ(domain.demands.demands.size(), 3U);
  const Node& score = At(*program, FirstRule(*program).comparison.subject);
  EXPECT_EQ(score.text, "baseline_zscore(a[first 200 samples after 20])");
  ASSERT_EQ(score.inputs.size(), 3U);
  const auto demand = [&](size_t input) {
    return DemandOf(*program, At(*program, score.inputs[input]));
  };
  EXPECT_EQ(demand(0).kind, WindowKind::kInstant);
  for (const size_t input : {1U, 2U}) {
    EXPECT_EQ(demand(input).kind, WindowKind::kFirst);
    EXPECT_EQ(demand(input).range, 200);
    EXPECT_EQ(demand(input).skip, 20);
  }
  EXPECT_EQ(demand(1).function, WindowFunction::kQuantile);
  EXPECT_EQ(demand(1).arguments, "0.5");
  EXPECT_EQ(demand(2).function, WindowFunction::kMad);

  const ProgramPtr given = CompileExpr("baseline_zscore(a[5m], sum by (x) (b)) > 3");
  const Node& other = At(*given, FirstRule(*given).comparison.subject);
  EXPECT_EQ(other.text, "baseline_zscore(a[5m], sum by (x) (b))");
  EXPECT_NE(At(*given, other.inputs[0]).As<Aggregation>(), nullptr);
  const ProgramPtr over = CompileExpr("baseline_zscore(rate(a[5m])[1h:1m]) > 3");
  const Node& results = At(*over, FirstRule(*over).comparison.subject);
  ASSERT_EQ(over->domains[0].subqueries.size(), 1U);
  EXPECT_EQ(over->domains[0].subqueries[0].demands.demands.size(), 3U);
  EXPECT_EQ(results.text, "baseline_zscore(rate(a[5m])[1h:1m])");
}

TEST(Planner, ShareOverTimeUsesLookbackOrStep) {
  const ProgramPtr program = Compile(R"(groups:
- name: g
  interval: 1s
  lookback: 30s
  rules:
  - alert: A
    expr: share_over_time(a[5m]) + share_over_time((a > bool 5)[10m:20s]) > 1
)");
  const DomainPlan& domain = program->domains[0];
  bool found = false;
  for (const Demand& demand : domain.demands.demands) {
    if (demand.function != WindowFunction::kShare) continue;
    found = true;
    EXPECT_EQ(demand.lookback, 30 * kSecond);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(domain.subqueries[0].demands.demands[0].lookback, 20 * kSecond);
  EXPECT_EQ(domain.subqueries[0].reach, Duration::Seconds(620));
}

TEST(Planner, PlansFunctionsOfInstantVectors) {
  EXPECT_NE(Root(*CompileExpr("timestamp(a)")).As<DemandColumn>(), nullptr);
  {
    const ProgramPtr program = CompileExpr("timestamp((a))");
    EXPECT_EQ(DemandOf(*program, Root(*program)).function, WindowFunction::kTimestamp);
    EXPECT_FALSE(std::get<DemandColumn>(Root(*program).operation).keep_name);
  }
  EXPECT_EQ(CallAtRoot(*CompileExpr("timestamp(a + 1)")).function, FunctionId::kTimestampOf);
  EXPECT_THAT(
      CallAtRoot(*CompileExpr("absent(a{x=\"1\",y=\"2\",y=~\"2\",z!=\"3\",w=\"\"})")).absent_labels,
      ElementsAre("x=1"));
  EXPECT_THAT(CallAtRoot(*CompileExpr("absent((a{x=\"1\"}))")).absent_labels, ElementsAre("x=1"));
  EXPECT_EQ(Root(*CompileExpr("clamp(a, 0, 1)")).inputs.size(), 3U);
  // At the root, a scalar becomes a vector of one element.
  const ProgramPtr program = CompileExpr("scalar(a) + 1");
  EXPECT_EQ(CallAtRoot(*program).function, FunctionId::kVector);
  EXPECT_EQ(At(*program, Root(*program).inputs[0]).type, ValueType::kScalar);
}

TEST(Planner, FoldsConstants) {
  const ProgramPtr program = CompileExpr("a > (1 + 2) * 1m / 10");
  const Node& threshold = At(*program, FirstRule(*program).comparison.threshold);
  EXPECT_EQ(std::get<Number>(threshold.operation).value, 18);
  EXPECT_EQ(program->domains[0].nodes.size(), 3U);
}

TEST(Planner, SharesEqualExpressionsAndWindows) {
  const ProgramPtr program = Compile(R"(groups:
- name: g
  interval: 1s
  rules:
  - alert: A
    expr: avg_over_time(a{x="1",y="2"}[1m]) > 1
  - alert: B
    expr: (avg_over_time(a{y="2", x="1"}[60s]) > 1) and sum_over_time(a{x="1",y="2"}[1m]) > 5
  - alert: C
    expr: avg_over_time(a{x="1",y="2"}[2m]) > 1
- name: other
  interval: 2s
  rules:
  - alert: D
    expr: avg_over_time(a{x="1",y="2"}[1m]) > 1
)");
  const DomainPlan& domain = program->domains[0];
  const std::vector<Rule>& rules = domain.groups[0].rules;
  EXPECT_EQ(domain.nodes[rules[1].expr.index()].inputs[0], rules[0].expr);
  EXPECT_NE(rules[2].expr, rules[0].expr);
  // A different interval needs different panes.
  EXPECT_NE(domain.groups[1].rules[0].expr, rules[0].expr);
  size_t averages = 0;
  for (const Demand& demand : domain.demands.demands)
    averages += demand.function == WindowFunction::kAvg ? 1 : 0;
  EXPECT_EQ(averages, 3U);
  EXPECT_EQ(domain.demands.selectors.size(), 2U);  // a{…}, and a as a need
}

TEST(Planner, FindsSubjectThresholdAndEvidence) {
  struct Case {
    std::string_view expr;
    std::string_view subject;
    std::string_view threshold;
    std::vector<std::string> evidence;
  };
  const Case kCases[] = {
      {"a > 5", "a", "5", {"a"}},
      {"5 < a", "a", "5", {"a"}},
      {"((a / b > 5))", "a / b", "5", {"a / b", "a", "b"}},
      {"(a > 5 and b < 3) unless c", "a", "5", {"a", "b"}},
      {"a > b", "a", "", {"a", "b"}},
      {"a or b > 1", "", "", {"b"}},
      {"sum(a)", "", "", {}},
      {"a > 1 == 2", "a > 1", "2", {"a > 1", "a"}},
      {"a > scalar(b) * 2", "a", "scalar(b) * 2", {"a"}},
      {"2 > bool 1", "", "", {}},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.expr);
    const ProgramPtr program = CompileExpr(c.expr);
    const Rule& rule = FirstRule(*program);
    EXPECT_EQ(rule.comparison.subject == kNoNode ? "" : At(*program, rule.comparison.subject).text,
              c.subject);
    EXPECT_EQ(
        rule.comparison.threshold == kNoNode ? "" : At(*program, rule.comparison.threshold).text,
        c.threshold);
    EXPECT_EQ(Texts(*program, rule.comparison.evidence), c.evidence);
  }
}

TEST(Planner, ShownText_StepClock_HasNumbersOfSteps) {
  const RuleSetFile file{"p.yaml", R"(groups:
- name: steps
  clock: step
  rules:
  - {alert: S, expr: 'max_over_time((train_loss{a="[8m20s:1s] offset 5m"} > bool 1)[500:10]) offset 20 > 1'}
- name: time
  rules:
  - {alert: T, expr: 'max_over_time((a > bool 1)[500s:10s]) > 1'}
)"};
  const StatusOr<ProgramPtr> compiled = CompileRules({&file, 1});
  ASSERT_FALSE(compiled.ok());  // an offset must follow the window
  const RuleSetFile good{"p.yaml", R"(groups:
- name: steps
  clock: step
  rules:
  - {alert: S, expr: 'max_over_time((train_loss{a="[8m20s:1s] offset 5m"} > bool 1)[500:10] offset 20) > 1'}
- name: time
  rules:
  - {alert: T, expr: 'max_over_time((a > bool 1)[500s:10s]) > 1'}
)"};
  const StatusOr<ProgramPtr> program = CompileRules({&good, 1});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto shown = [&](size_t domain) {
    const DomainPlan& s = (*program)->domains[domain];
    return ShownText(s, s.nodes[s.groups[0].rules[0].expr.index()]);
  };
  EXPECT_NE(shown(1).find(R"({a="[8m20s:1s] offset 5m"})"), std::string::npos) << shown(1);
  EXPECT_NE(shown(1).find("[500:10] offset 20)"), std::string::npos) << shown(1);
  EXPECT_NE(shown(0).find("[8m20s:10s]"), std::string::npos) << shown(0);
}

TEST(Planner, Fold_IsSortedAndChangesFingerprint) {
  const auto compile = [](std::string_view fold) {
    const RuleSetFile file{
        "p.yaml", Cat("groups:\n- name: g\n  rules:\n  - {alert: A, expr: a < 1", fold, "}\n")};
    return CompileRules({&file, 1});
  };
  const auto plain = compile(""), one = compile(", fold: [t]"), two = compile(", fold: [u, t]");
  ASSERT_TRUE(plain.ok() && one.ok() && two.ok()) << two.status();
  EXPECT_EQ(FirstRule(**two).fold, (std::vector<std::string>{"t", "u"}));
  EXPECT_TRUE(FirstRule(**two).comparison.least_is_worst);
  EXPECT_NE(FirstRule(**plain).fingerprint, FirstRule(**one).fingerprint);
  EXPECT_NE(FirstRule(**one).fingerprint, FirstRule(**two).fingerprint);
  EXPECT_NE(compile(", fold: [t], explains: [{alert: B, equal: [t]}]")
                .status()
                .message()
                .find("is in \"fold\""),
            std::string::npos);
  for (const std::string_view bad : {", fold: t", ", fold: []", ", fold: [t, t]",
                                     ", fold: [severity]", ", fold: ['a b']", ", fold: [{a: b}]"}) {
    const Status status = compile(bad).status();
    EXPECT_NE(status.message().find("\"fold\": "), std::string::npos) << bad << ": " << status;
  }
}

TEST(Planner, PlansDomainsGroupsAndDefaults) {
  const RuleSetFile files[] = {
      {"z/b.yaml", "groups:\n- {name: late, rules: [{record: r, expr: a}]}\n- {name: empty}\n"},
      {"y/a.yaml", R"(groups:
- name: steps
  clock: step
  mode: eval
  rules: [{alert: S, expr: "avg_over_time(train_loss[10]) > 1", for: 5}]
- name: more
  clock: step
  rules: [{alert: S, expr: train_loss > 1}]
- name: time
  align: job
  limit: 3
  interval: 10s
  lookback: 1m
  labels: {team: x}
  rules:
  - {alert: T, expr: a > 1, for: 30s, keep_firing_for: 1m, clear: a < 1, scope: attempt, labels: {severity: page}}
  - {alert: T, expr: a > 2}
)"},
  };
  const StatusOr<ProgramPtr> compiled = CompileRules(files);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Program& program = **compiled;
  ASSERT_EQ(program.domains.size(), 3U);
  EXPECT_EQ(program.domains[0].demands.clock.ToString(), "time");
  EXPECT_EQ(program.domains[1].demands.clock.ToString(), "step:eval");
  EXPECT_EQ(program.domains[2].demands.clock.ToString(), "step:train");
  // Packs are in order, and empty groups are omitted.
  ASSERT_EQ(program.domains[0].groups.size(), 2U);
  const Group& group = program.domains[0].groups[0];
  EXPECT_EQ(group.name, "a/time");
  EXPECT_TRUE(group.align_job);
  EXPECT_EQ(group.interval, Duration::Seconds(10));
  EXPECT_EQ(group.lookback, Duration::Seconds(60));
  EXPECT_EQ(group.limit, 3U);
  const Rule& rule = group.rules[0];
  EXPECT_EQ(rule.name, "a/time/T");
  EXPECT_EQ(rule.file, "y/a.yaml");
  EXPECT_EQ(rule.hold, Duration::Seconds(30));
  EXPECT_EQ(rule.keep_firing, Duration::Seconds(60));
  EXPECT_NE(rule.clear, kNoNode);
  EXPECT_EQ(rule.scope, AlertScope::kAttempt);
  ASSERT_EQ(rule.labels.size(), 2U);
  EXPECT_EQ(rule.labels[0].name, "severity");
  ASSERT_EQ(rule.needs.size(), 1U);
  EXPECT_EQ(rule.needs[0].metric, "a");
  EXPECT_EQ(program.domains[0].demands.demands[rule.needs[0].demand].kind, WindowKind::kInstant);
  EXPECT_TRUE(program.domains[0].demands.demands[rule.needs[0].demand].align_job);
  EXPECT_EQ(group.rules[1].name, "a/time/T#2");
  EXPECT_EQ(program.domains[0].groups[1].interval, Duration::Nanos(kDefaultInterval));
  EXPECT_EQ(program.domains[0].groups[1].rules[0].kind, RuleKind::kRecord);
  const Group& steps = program.domains[1].groups[0];
  EXPECT_EQ(steps.interval, Duration::Nanos(kDefaultStepInterval));
  EXPECT_EQ(steps.lookback, Duration::Nanos(kDefaultStepLookback));
  EXPECT_EQ(steps.rules[0].hold, 5 * kStepLength);
  EXPECT_EQ(steps.rules[0].scope, AlertScope::kAttempt);
  EXPECT_EQ(program.domains[1].demands.demands[0].range, StepPosition(10));
}

TEST(Planner, FileOrderDoesNotChangeProgram) {
  const RuleSetFile a{"x/a.yaml", "groups: [{name: g, rules: [{alert: A, expr: a > 1}]}]"};
  const RuleSetFile b{"x/b.yaml", "groups: [{name: g, rules: [{alert: B, expr: b > 1}]}]"};
  const RuleSetFile moved{"elsewhere/a.yml", a.text};
  const RuleSetFile one[] = {a, b};
  const RuleSetFile two[] = {b, moved};
  const ProgramPtr first = *CompileRules(one);
  const ProgramPtr second = *CompileRules(two);
  EXPECT_EQ(first->domains[0].groups[1].name, second->domains[0].groups[1].name);
  EXPECT_NE(first->hash, (*CompileRules(one, 30 * kSecond))->hash);
  EXPECT_EQ(first->hash, RuleSetHash({.files = {a, b}}));
}

TEST(Planner, FingerprintIgnoresSpelling) {
  const auto fingerprint = [](std::string_view rule, std::string_view group = "") {
    return FirstRule(
               *Compile(Cat("groups:\n- name: g\n  ", group, "\n  rules:\n  - alert: A\n", rule)))
        .fingerprint;
  };
  const std::string base =
      fingerprint("    expr: a{x=\"1\",y=\"2\"} > 1\n    for: 1m\n    labels: {s: w}\n");
  EXPECT_EQ(base, fingerprint("    expr: (a{y='2', x='1'}) > 1.0 # why\n    for: 60s\n    labels: "
                              "{s: w}\n    annotations: "
                              "{summary: new words}\n"));
  EXPECT_EQ(base, fingerprint("    expr: a{x=\"1\",y=\"2\"} > 1\n    for: 1m\n", "labels: {s: w}"));
  for (const std::string_view other :
       {"    expr: a{x=\"1\",y=\"2\"} > 2\n    for: 1m\n    labels: {s: w}\n",
        "    expr: a{x=\"1\",y=\"2\"} > 1\n    for: 2m\n    labels: {s: w}\n",
        "    expr: a{x=\"1\",y=\"2\"} > 1\n    for: 1m\n    labels: {s: v}\n",
        "    expr: a{x=\"1\",y=\"2\"} > 1\n    for: 1m\n    keep_firing_for: 1m\n    labels: {s: "
        "w}\n",
        "    expr: a{x=\"1\",y=\"2\"} > 1\n    for: 1m\n    clear: a < 1\n    labels: {s: w}\n",
        "    expr: a{x=\"1\",y=\"2\"} > 1\n    for: 1m\n    scope: attempt\n    labels: {s: "
        "w}\n"}) {
    EXPECT_NE(base, fingerprint(other)) << other;
  }
}

TEST(Compile, ErrorsAreInStatusAndDiagnostics) {
  const RuleSetFile files[] = {{"p.yaml",
                                "groups:\n- name: g\n  rules:\n  - {alert: A, expr: 'a >'}\n  - "
                                "{alert: B, expr: rat(a)}\n"}};
  lang::Diagnostics diagnostics;
  const StatusOr<ProgramPtr> program = CompileRules(files, kDefaultInterval, &diagnostics);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(diagnostics.ErrorCount(), 2U);
  EXPECT_EQ(ToStd(program.status().message()),
            "p.yaml:4:26: error: unexpected end of input, expected an expression\n"
            "p.yaml:5:22: error: unknown function with name \"rat\" (did you mean \"rate\"?)");
  EXPECT_FALSE(CompileRules({}, 0).ok());
  EXPECT_TRUE((*CompileRules({}))->domains.empty());
}

}  // namespace
}  // namespace pitwall::plan
