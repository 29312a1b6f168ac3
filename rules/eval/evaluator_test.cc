// Tests for individual operators. The expected results are computed by hand from the definitions in
// Prometheus.
#include "rules/eval/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rules/eval/testing/fake_store.h"
#include "services/base/text/strings.h"

namespace pitwall::eval {
namespace {

using plan::Cardinality;
using plan::FunctionId;
using plan::Matching;
using plan::NodeId;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kSecond = 1'000'000'000;

// Fixture that evaluates one expression over a store and returns the results as strings, sorted by
// labels.
class EvalTest : public testing::Test {
 protected:
  ProgramBuilder b;

  void Given(std::vector<std::pair<Labels, std::optional<double>>> series) {
    series_ = std::move(series);
  }
  StatusOr<std::vector<std::string>> Run(NodeId node, int64_t tick = 100 * kSecond) {
    program_ = b.Build();
    store_ = std::make_unique<FakeStore>(program_->domains[0]);
    for (const auto& [labels, value] : series_) store_->Set(labels, value);
    evaluator_ = std::make_unique<Evaluator>(program_, 0);
    evaluator_->Begin(tick, store_.get());
    return Text(node);
  }
  StatusOr<std::vector<std::string>> Text(NodeId node) {
    StatusOr<const Vector*> result = evaluator_->Evaluate(node);
    if (!result.ok()) return result.status();
    const Vector& v = **result;
    std::vector<std::string> out;
    if (v.type == plan::ValueType::kScalar) return std::vector{FormatDouble(v.scalar())};
    EXPECT_EQ(v.size(), v.column->size());
    EXPECT_EQ(v.binding, v.column->binding());
    for (size_t i = 0; i < v.size(); ++i) {
      if (i > 0) {
        EXPECT_LT(v.labels(i - 1), v.labels(i));
      }
      if (v.present[i]) out.push_back(v.labels(i).ToString() + " " + FormatDouble(v.values[i]));
    }
    return out;
  }
  std::vector<std::string> Ok(NodeId node) {
    auto r = Run(node);
    EXPECT_TRUE(r.ok()) << r.status();
    return r.ok() ? *r : std::vector<std::string>{};
  }
  std::string Error(NodeId node) {
    auto r = Run(node);
    return r.ok() ? "no error" : std::string(ToStd(r.status().message()));
  }

  std::vector<std::pair<Labels, std::optional<double>>> series_;
  plan::ProgramPtr program_;
  std::unique_ptr<FakeStore> store_;
  std::unique_ptr<Evaluator> evaluator_;
};

Labels M(std::string_view name, std::string_view x, std::string_view y = "") {
  return Labels({{"__name__", name}, {"x", x}, {"y", y}});
}

TEST_F(EvalTest, SelectorResultIsSortedAndKeepsName) {
  Given({{M("a", "2"), 2}, {M("a", "1"), 1}, {M("a", "3"), std::nullopt}, {M("b", "1"), 9}});
  EXPECT_THAT(Ok(b.Metric("a")), ElementsAre("a{x=\"1\"} 1", "a{x=\"2\"} 2"));
  EXPECT_THAT(Ok(b.Metric("a", false)), ElementsAre("{x=\"1\"} 1", "{x=\"2\"} 2"));
}

TEST_F(EvalTest, EqualLabelsWithoutName_FailOnlyIfBothPresent) {
  Given({{M("a", "1"), 1}, {M("b", "1"), 2}, {M("b", "2"), 3}});
  EXPECT_EQ(Error(b.Metric("a|b", false)), "vector cannot contain metrics with the same labelset");
  EXPECT_EQ(Error(b.Negate(b.Metric("a|b"))),
            "vector cannot contain metrics with the same labelset");
  // Both series are bound to the same position but are never present together, so there is no
  // error.
  Given({{M("a", "1"), std::nullopt}, {M("b", "1"), 2}, {M("b", "2"), 3}});
  EXPECT_THAT(Ok(b.Metric("a|b", false)), ElementsAre("{x=\"1\"} 2", "{x=\"2\"} 3"));
  EXPECT_THAT(Ok(b.Negate(b.Metric("a|b"))), ElementsAre("{x=\"1\"} -2", "{x=\"2\"} -3"));
}

TEST_F(EvalTest, RestoresLabelOrderAfterDroppingName) {
  // With the metric name, label A sorts before __name__. Without the name, {} sorts first.
  Given({{L({{"A", "1"}, {"__name__", "a"}}), 1}, {L({{"__name__", "a"}}), 2}});
  EXPECT_THAT(Ok(b.Metric("a")), ElementsAre("a{A=\"1\"} 1", "a 2"));
  EXPECT_THAT(Ok(b.Metric("a", false)), ElementsAre("{} 2", "{A=\"1\"} 1"));
}

TEST_F(EvalTest, EvaluatesScalarsAndTime) {
  Given({});
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kAdd, b.Number(1), b.Number(2))), ElementsAre("3"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kGt, b.Number(1), b.Number(2), {}, true)), ElementsAre("0"));
  EXPECT_THAT(Ok(b.Negate(b.Number(2))), ElementsAre("-2"));
  EXPECT_THAT(*Run(b.Time(), 1'700'000'000'123'000'000), ElementsAre("1700000000.123"));
  EXPECT_THAT(*Run(b.Time(), 1500), ElementsAre("1.5e-06"));
  EXPECT_THAT(*Run(b.Time(), 7 * kSecond), ElementsAre("7"));  // step 7
}

TEST_F(EvalTest, EvaluatesParameters) {
  Given({{M("a", "1"), 5}, {M("a", "2"), 50}});
  const NodeId n = b.Binary(BinaryOp::kGt, b.Metric("a"), b.Parameter("threshold", 10));
  EXPECT_THAT(Ok(n), ElementsAre("a{x=\"2\"} 50"));
  evaluator_->SetParameters({1});
  EXPECT_THAT(*Text(n), ElementsAre("a{x=\"1\"} 5", "a{x=\"2\"} 50"));
  evaluator_->SetParameters({});  // restores the program's own value
  EXPECT_THAT(*Text(n), ElementsAre("a{x=\"2\"} 50"));
}

TEST_F(EvalTest, ArithmeticMatchesGo) {
  struct Case {
    BinaryOp op;
    double a, b, want;
  };
  const Case cases[] = {
      {BinaryOp::kMod, 5, 3, 2},           {BinaryOp::kMod, -5, 3, -2},
      {BinaryOp::kMod, 5, -3, 2},          {BinaryOp::kMod, 5, 0, kNan},
      {BinaryOp::kMod, 5, kInf, 5},        {BinaryOp::kMod, kInf, 5, kNan},
      {BinaryOp::kMod, -0.5, 1, -0.5},     {BinaryOp::kPow, 2, 10, 1024},
      {BinaryOp::kPow, -2, 0.5, kNan},     {BinaryOp::kPow, -1, kInf, 1},
      {BinaryOp::kPow, 1, kNan, 1},        {BinaryOp::kPow, kNan, 0, 1},
      {BinaryOp::kPow, 0, -1, kInf},       {BinaryOp::kAtan2, 0, -1, M_PI},
      {BinaryOp::kAtan2, -0.0, -1, -M_PI}, {BinaryOp::kAtan2, kInf, kInf, M_PI / 4},
      {BinaryOp::kDiv, 1, 0, kInf},        {BinaryOp::kDiv, -1, 0, -kInf},
      {BinaryOp::kDiv, 0, 0, kNan},        {BinaryOp::kSub, kInf, kInf, kNan},
  };
  for (const Case& c : cases) {
    // Scalar-scalar, vector-scalar, scalar-vector, and vector-vector operations produce the same
    // result.
    Given({{M("a", "1"), c.a}, {M("b", "1"), c.b}});
    const std::string want = FormatDouble(c.want);
    EXPECT_THAT(Ok(b.Binary(c.op, b.Number(c.a), b.Number(c.b))), ElementsAre(want))
        << c.a << " " << c.b;
    const std::string element = "{x=\"1\"} " + want;
    EXPECT_THAT(Ok(b.Binary(c.op, b.Metric("a"), b.Number(c.b))), ElementsAre(element));
    EXPECT_THAT(Ok(b.Binary(c.op, b.Number(c.a), b.Metric("b"))), ElementsAre(element));
    EXPECT_THAT(Ok(b.Binary(c.op, b.Metric("a"), b.Metric("b"))), ElementsAre(element));
  }
}

TEST_F(EvalTest, ComparisonsKeepValueAndName) {
  Given({{M("a", "1"), 1}, {M("a", "2"), 2}, {M("a", "3"), kNan}});
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kGe, b.Metric("a"), b.Number(2))), ElementsAre("a{x=\"2\"} 2"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kLt, b.Number(1), b.Metric("a"))), ElementsAre("a{x=\"2\"} 2"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kNe, b.Metric("a"), b.Number(1))),
              ElementsAre("a{x=\"2\"} 2", "a{x=\"3\"} NaN"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kEq, b.Metric("a"), b.Number(kNan))), ElementsAre());
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kLe, b.Metric("a"), b.Number(1), {}, true)),
              ElementsAre("{x=\"1\"} 1", "{x=\"2\"} 0", "{x=\"3\"} 0"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kGt, b.Number(2), b.Metric("a"), {}, true)),
              ElementsAre("{x=\"1\"} 1", "{x=\"2\"} 0", "{x=\"3\"} 0"));
}

TEST_F(EvalTest, MatchesOneToOneByAllLabels) {
  Given({{M("a", "1"), 1}, {M("a", "2"), 2}, {M("b", "2"), 20}, {M("b", "3"), 30}});
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kAdd, b.Metric("a"), b.Metric("b"))),
              ElementsAre("{x=\"2\"} 22"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kLt, b.Metric("a"), b.Metric("b"))),
              ElementsAre("a{x=\"2\"} 2"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kLt, b.Metric("a"), b.Metric("b"), {}, true)),
              ElementsAre("{x=\"2\"} 1"));
}

TEST_F(EvalTest, MatchesOnAndIgnoring) {
  Given({{M("a", "1", "p"), 1}, {M("a", "2", "p"), 2}, {M("b", "1", "q"), 10}});
  Matching on{true, {"x"}, Cardinality::kOneToOne, {}};
  Matching ignoring{false, {"y"}, Cardinality::kOneToOne, {}};
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kMul, b.Metric("a"), b.Metric("b"), on)),
              ElementsAre("{x=\"1\"} 10"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kMul, b.Metric("a"), b.Metric("b"), ignoring)),
              ElementsAre("{x=\"1\"} 10"));
  // A filter with on() keeps only the matching labels. A filter with ignoring() also keeps the
  // name.
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kLt, b.Metric("a"), b.Metric("b"), on)),
              ElementsAre("{x=\"1\"} 1"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kLt, b.Metric("a"), b.Metric("b"), ignoring)),
              ElementsAre("a{x=\"1\"} 1"));
  Matching none{true, {}, Cardinality::kOneToOne, {}};
  Given({{M("a", "1"), 1}, {M("b", "7"), 10}});
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kSub, b.Metric("a"), b.Metric("b"), none)),
              ElementsAre("{} -9"));
}

TEST_F(EvalTest, MatchesManyToOne) {
  Given({{M("a", "1", "p"), 1},
         {M("a", "1", "q"), 2},
         {M("a", "2", "p"), 3},
         {L({{"__name__", "info"}, {"x", "1"}, {"z", "zz"}, {"y", "other"}}), 10}});
  Matching left{true, {"x"}, Cardinality::kManyToOne, {"z"}};
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kMul, b.Metric("a"), b.Metric("info"), left)),
              ElementsAre("{x=\"1\",y=\"p\",z=\"zz\"} 10", "{x=\"1\",y=\"q\",z=\"zz\"} 20"));
  Matching right{true, {"x"}, Cardinality::kOneToMany, {"z"}};
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kSub, b.Metric("info"), b.Metric("a"), right)),
              ElementsAre("{x=\"1\",y=\"p\",z=\"zz\"} 9", "{x=\"1\",y=\"q\",z=\"zz\"} 8"));
  // A filter keeps the name from the many side and the value from the left side.
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kGt, b.Metric("info"), b.Metric("a"), right)),
              ElementsAre("a{x=\"1\",y=\"p\",z=\"zz\"} 10", "a{x=\"1\",y=\"q\",z=\"zz\"} 10"));
  // The "one" side does not have the included label, so the label is removed and two results
  // collide.
  Matching clash{true, {"x"}, Cardinality::kManyToOne, {"y"}};
  EXPECT_EQ(Error(b.Binary(BinaryOp::kMul, b.Metric("a"), b.Metric("info"), clash)),
            "multiple matches for labels: grouping labels must ensure unique matches");
}

TEST_F(EvalTest, ManyToOneFollowsChangedInfoSeries) {
  // The store still has the old info series when the new series appears. Both are bound, and the
  // present series matches.
  const Labels old_info = L({{"__name__", "info"}, {"x", "1"}, {"z", "old"}});
  const Labels new_info = L({{"__name__", "info"}, {"x", "1"}, {"z", "new"}});
  Given({{M("a", "1"), 5}, {old_info, std::nullopt}, {new_info, 1}});
  Matching left{true, {"x"}, Cardinality::kManyToOne, {"z"}};
  const NodeId n = b.Binary(BinaryOp::kMul, b.Metric("a"), b.Metric("info"), left);
  EXPECT_THAT(Ok(n), ElementsAre("{x=\"1\",z=\"new\"} 5"));
  store_->Set(old_info, 1);
  evaluator_->Begin(0, store_.get());
  EXPECT_EQ(std::string(ToStd(Text(n).status().message())),
            "found duplicate series for the match group {x=\"1\"} on the right hand-side of the "
            "operation: [{__name__=\"info\", x=\"1\", z=\"old\"}, {__name__=\"info\", x=\"1\", "
            "z=\"new\"}];many-to-many matching not allowed: matching labels must be unique on one "
            "side");
  store_->Set(new_info, std::nullopt);
  evaluator_->Begin(0, store_.get());
  EXPECT_THAT(*Text(n), ElementsAre("{x=\"1\",z=\"old\"} 5"));
}

TEST_F(EvalTest, ReportsOneToOneErrors) {
  Matching on{true, {"x"}, Cardinality::kOneToOne, {}};
  Given({{M("a", "1", "p"), 1}, {M("a", "1", "q"), 2}, {M("b", "1"), 10}, {M("c", "9"), 1}});
  EXPECT_EQ(Error(b.Binary(BinaryOp::kAdd, b.Metric("a"), b.Metric("b"), on)),
            "multiple matches for labels: many-to-one matching must be explicit "
            "(group_left/group_right)");
  EXPECT_THAT(Error(b.Binary(BinaryOp::kAdd, b.Metric("b"), b.Metric("a"), on)),
              HasSubstr("on the right hand-side"));
  // Unmatched duplicates are an error on the right side but not on the left side.
  EXPECT_THAT(Error(b.Binary(BinaryOp::kAdd, b.Metric("c"), b.Metric("a"), on)),
              HasSubstr("many-to-many matching not allowed"));
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kAdd, b.Metric("a"), b.Metric("c"), on)), ElementsAre());
  // If one side is empty, there is no error.
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kAdd, b.Metric("none"), b.Metric("a"), on)), ElementsAre());
  Matching group_right{true, {"x"}, Cardinality::kOneToMany, {}};
  EXPECT_THAT(Error(b.Binary(BinaryOp::kAdd, b.Metric("a"), b.Metric("b"), group_right)),
              HasSubstr("on the left hand-side"));
}

TEST_F(EvalTest, EvaluatesSetOperators) {
  Given({{M("a", "1"), 1},
         {M("a", "2"), 2},
         {M("b", "2"), 20},
         {M("b", "3"), 30},
         {M("b", "1"), std::nullopt}});
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kAnd, b.Metric("a"), b.Metric("b"))),
              ElementsAre("a{x=\"2\"} 2"));
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kUnless, b.Metric("a"), b.Metric("b"))),
              ElementsAre("a{x=\"1\"} 1"));
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kOr, b.Metric("a"), b.Metric("b"))),
              ElementsAre("a{x=\"1\"} 1", "a{x=\"2\"} 2", "b{x=\"3\"} 30"));
  Matching none{true, {}, Cardinality::kOneToOne, {}};
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kAnd, b.Metric("a"), b.Metric("b"), none)),
              ElementsAre("a{x=\"1\"} 1", "a{x=\"2\"} 2"));
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kOr, b.Metric("a"), b.Metric("b"), none)),
              ElementsAre("a{x=\"1\"} 1", "a{x=\"2\"} 2"));
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kOr, b.Metric("none"), b.Metric("b"), none)),
              ElementsAre("b{x=\"2\"} 20", "b{x=\"3\"} 30"));
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kUnless, b.Metric("a"), b.Metric("none"), none)),
              ElementsAre("a{x=\"1\"} 1", "a{x=\"2\"} 2"));
}

TEST_F(EvalTest, EvaluatesAggregations) {
  Given({{M("a", "1", "p"), 1},
         {M("a", "1", "q"), 3},
         {M("a", "2", "p"), kNan},
         {M("a", "2", "q"), 5},
         {M("a", "3", "p"), std::nullopt}});
  const NodeId a = b.Metric("a");
  const auto by_x = [&](AggregateOp op) { return Ok(b.Aggregate(op, a, {"x"})); };
  EXPECT_THAT(by_x(AggregateOp::kSum), ElementsAre("{x=\"1\"} 4", "{x=\"2\"} NaN"));
  EXPECT_THAT(by_x(AggregateOp::kAvg), ElementsAre("{x=\"1\"} 2", "{x=\"2\"} NaN"));
  EXPECT_THAT(by_x(AggregateOp::kMin), ElementsAre("{x=\"1\"} 1", "{x=\"2\"} 5"));
  EXPECT_THAT(by_x(AggregateOp::kMax), ElementsAre("{x=\"1\"} 3", "{x=\"2\"} 5"));
  EXPECT_THAT(by_x(AggregateOp::kCount), ElementsAre("{x=\"1\"} 2", "{x=\"2\"} 2"));
  EXPECT_THAT(by_x(AggregateOp::kGroup), ElementsAre("{x=\"1\"} 1", "{x=\"2\"} 1"));
  EXPECT_THAT(by_x(AggregateOp::kStdvar), ElementsAre("{x=\"1\"} 1", "{x=\"2\"} NaN"));
  EXPECT_THAT(by_x(AggregateOp::kStddev), ElementsAre("{x=\"1\"} 1", "{x=\"2\"} NaN"));
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kCount, a, {"x"}, true)),
              ElementsAre("{y=\"p\"} 2", "{y=\"q\"} 2"));
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kCount, a, {})), ElementsAre("{} 4"));
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kCount, a, {"__name__"})), ElementsAre("a 4"));
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kCount, a, {}, true)),
              ElementsAre("{x=\"1\",y=\"p\"} 1", "{x=\"1\",y=\"q\"} 1", "{x=\"2\",y=\"p\"} 1",
                          "{x=\"2\",y=\"q\"} 1"));
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kSum, b.Metric("none"), {})), ElementsAre());
}

TEST_F(EvalTest, MinAndMaxOfAllNanAreNan) {
  Given({{M("a", "1"), kNan}, {M("a", "2"), kNan}});
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kMin, b.Metric("a"), {})), ElementsAre("{} NaN"));
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kMax, b.Metric("a"), {})), ElementsAre("{} NaN"));
}

TEST_F(EvalTest, SumsAreCompensatedAndAveragesDoNotOverflow) {
  Given({{M("a", "1"), 1e100}, {M("a", "2"), 1}, {M("a", "3"), -1e100}});
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kSum, b.Metric("a"), {})), ElementsAre("{} 1"));
  Given({{M("a", "1"), 1.7e308}, {M("a", "2"), 1.7e308}, {M("a", "3"), 1.7e308}});
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kAvg, b.Metric("a"), {})), ElementsAre("{} 1.7e+308"));
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kSum, b.Metric("a"), {})), ElementsAre("{} +Inf"));
  Given({{M("a", "1"), kInf}, {M("a", "2"), 1}});
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kAvg, b.Metric("a"), {})), ElementsAre("{} +Inf"));
  Given({{M("a", "1"), kInf}, {M("a", "2"), -kInf}});
  EXPECT_THAT(Ok(b.Aggregate(AggregateOp::kAvg, b.Metric("a"), {})), ElementsAre("{} NaN"));
}

TEST_F(EvalTest, EvaluatesQuantiles) {
  Given({{M("a", "1"), 3}, {M("a", "2"), 1}, {M("a", "3"), 4}, {M("a", "4"), 2}});
  const auto q = [&](double phi) {
    return Ok(b.Aggregate(AggregateOp::kQuantile, b.Metric("a"), {}, false, b.Number(phi)));
  };
  EXPECT_THAT(q(0), ElementsAre("{} 1"));
  EXPECT_THAT(q(1), ElementsAre("{} 4"));
  EXPECT_THAT(q(0.5), ElementsAre("{} 2.5"));
  EXPECT_THAT(q(0.75), ElementsAre("{} 3.25"));
  EXPECT_THAT(q(-1), ElementsAre("{} -Inf"));
  EXPECT_THAT(q(2), ElementsAre("{} +Inf"));
  EXPECT_THAT(q(kNan), ElementsAre("{} NaN"));
  Given({{M("a", "1"), 3}, {M("a", "2"), kNan}});  // NaN sorts first
  EXPECT_THAT(q(0), ElementsAre("{} NaN"));
  EXPECT_THAT(q(0.5), ElementsAre("{} NaN"));
  EXPECT_THAT(q(1), ElementsAre("{} 3"));
}

TEST_F(EvalTest, EvaluatesFunctions) {
  Given({{M("a", "1"), -2.5}});
  const NodeId a = b.Metric("a");
  const auto f = [&](FunctionId id, std::vector<double> arguments = {}) {
    std::vector<NodeId> inputs = {a};
    for (const double v : arguments) inputs.push_back(b.Number(v));
    const auto r = Ok(b.Call(id, inputs));
    return r.size() == 1 ? r[0].substr(r[0].find(' ') + 1) : Cat(r.size(), " elements");
  };
  EXPECT_EQ(f(FunctionId::kAbs), "2.5");
  EXPECT_EQ(f(FunctionId::kCeil), "-2");
  EXPECT_EQ(f(FunctionId::kFloor), "-3");
  EXPECT_EQ(f(FunctionId::kRound), "-2");  // rounds ties up
  EXPECT_EQ(f(FunctionId::kRound, {2}), "-2");
  EXPECT_EQ(f(FunctionId::kSgn), "-1");
  EXPECT_EQ(f(FunctionId::kSqrt), "NaN");
  EXPECT_EQ(f(FunctionId::kLn), "NaN");
  EXPECT_EQ(f(FunctionId::kClamp, {-1, 1}), "-1");
  EXPECT_EQ(f(FunctionId::kClamp, {1, -1}), "0 elements");
  EXPECT_EQ(f(FunctionId::kClamp, {kNan, 1}), "NaN");
  EXPECT_EQ(f(FunctionId::kClampMin, {3}), "3");
  EXPECT_EQ(f(FunctionId::kClampMax, {-3}), "-3");
  EXPECT_EQ(f(FunctionId::kTimestampOf), "100");
  Given({{M("a", "1"), 8}});
  EXPECT_EQ(f(FunctionId::kLog2), "3");
  EXPECT_EQ(f(FunctionId::kSqrt), FormatDouble(std::sqrt(8)));
  Given({{M("a", "1"), 0}});
  EXPECT_EQ(f(FunctionId::kExp), "1");
  EXPECT_EQ(f(FunctionId::kSgn), "0");
  EXPECT_EQ(f(FunctionId::kLog10), "-Inf");
  // The name is dropped.
  EXPECT_THAT(Ok(b.Call(FunctionId::kAbs, {b.Metric("a")})), ElementsAre("{x=\"1\"} 0"));
}

TEST_F(EvalTest, ConvertsBetweenScalarsAndVectors) {
  Given({{M("a", "1"), 7}, {M("b", "1"), 1}, {M("b", "2"), 2}, {M("c", "1"), std::nullopt}});
  EXPECT_THAT(Ok(b.Call(FunctionId::kScalar, {b.Metric("a")})), ElementsAre("7"));
  EXPECT_THAT(Ok(b.Call(FunctionId::kScalar, {b.Metric("b")})), ElementsAre("NaN"));
  EXPECT_THAT(Ok(b.Call(FunctionId::kScalar, {b.Metric("c")})), ElementsAre("NaN"));
  const NodeId one = b.Call(FunctionId::kVector, {b.Number(3)});
  EXPECT_THAT(Ok(b.Binary(BinaryOp::kMul, one, b.Number(2))), ElementsAre("{} 6"));
  EXPECT_THAT(Ok(b.Call(FunctionId::kAbsent, {b.Metric("a")}, {"x=1"})), ElementsAre());
  EXPECT_THAT(Ok(b.Call(FunctionId::kAbsent, {b.Metric("c")}, {"x=1", "y=p=q"})),
              ElementsAre("{x=\"1\",y=\"p=q\"} 1"));
  const NodeId absent = b.Call(FunctionId::kAbsent, {b.Metric("c")});
  EXPECT_THAT(Ok(b.Set(plan::SetOp::kOr, b.Metric("a"), absent)),
              ElementsAre("{} 1", "a{x=\"1\"} 7"));
}

TEST_F(EvalTest, ErrorsPropagateUntilCauseIsRemoved) {
  Given({{M("a", "1"), 1}, {M("b", "1"), 2}, {M("c", "1"), 3}});
  const NodeId bad = b.Negate(b.Metric("a|b"));
  const NodeId c = b.Metric("c");
  const NodeId n = b.Set(plan::SetOp::kAnd, c, bad);
  EXPECT_THAT(Error(n), HasSubstr("same labelset"));
  EXPECT_THAT(*Text(c), ElementsAre("c{x=\"1\"} 3"));
  store_->Set(M("a", "1"), std::nullopt);
  evaluator_->Begin(0, store_.get());
  EXPECT_THAT(*Text(n), ElementsAre("c{x=\"1\"} 3"));
}

TEST_F(EvalTest, ExceededLimitFailsRule) {
  const NodeId a = b.Metric("a");
  program_ = b.Build();
  store_ = std::make_unique<FakeStore>(program_->domains[0]);
  for (int i = 0; i < 20; ++i) store_->Set(M("a", std::to_string(i)), 1);
  EvaluatorOptions options;
  options.max_elements = 10;
  Evaluator evaluator(program_, 0, options);
  evaluator.Begin(0, store_.get());
  const auto r = evaluator.Evaluate(a);
  EXPECT_EQ(r.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(EvalTest, ResultsAreCachedPerTickUntilChange) {
  Given({{M("a", "1"), 1}});
  const NodeId a = b.Negate(b.Metric("a"));
  EXPECT_THAT(Ok(a), ElementsAre("{x=\"1\"} -1"));
  store_->Set(M("a", "1"), 5);
  EXPECT_THAT(*Text(a), ElementsAre("{x=\"1\"} -1"));  // cached within the tick
  evaluator_->Changed();
  EXPECT_THAT(*Text(a), ElementsAre("{x=\"1\"} -5"));
}

TEST_F(EvalTest, BindingIsKeptWhileSeriesAreUnchanged) {
  Given({{M("a", "1"), 1}, {M("a", "2"), 2}});
  const NodeId n = b.Aggregate(AggregateOp::kSum, b.Metric("a"), {"x"});
  ASSERT_THAT(Ok(n).size(), 2u);
  const uint64_t before = (*evaluator_->Evaluate(n))->binding;
  const LabelColumnPtr old = (*evaluator_->Evaluate(n))->column;
  store_->Set(M("a", "2"), std::nullopt);
  evaluator_->Begin(1, store_.get());
  EXPECT_EQ((*evaluator_->Evaluate(n))->binding, before);
  store_->Reverse();  // the same series in a different order, which is a new generation with the
                      // same labels
  evaluator_->Begin(2, store_.get());
  EXPECT_EQ((*evaluator_->Evaluate(n))->binding, before);
  store_->Set(M("a", "0"), 4);
  evaluator_->Begin(3, store_.get());
  EXPECT_NE((*evaluator_->Evaluate(n))->binding, before);
  EXPECT_THAT(*Text(n), ElementsAre("{x=\"0\"} 4", "{x=\"1\"} 1"));
  EXPECT_EQ((*old)[0], L({{"x", "1"}}));  // an owner of the old column can still read it
  EXPECT_EQ(old->Find(L({{"x", "2"}})), 1);
  EXPECT_EQ(old->Find(L({{"x", "0"}})), -1);
}

TEST_F(EvalTest, DiscardsLabelSetsOfRemovedSeries) {
  Given({});
  const NodeId n = b.Negate(b.Metric("a"));
  ASSERT_TRUE(Run(n).ok());
  size_t most = 0;
  for (int i = 0; i < 5000; ++i) {
    store_->Set(M("a", std::to_string(i)), i);
    if (i >= 10) store_->Remove(M("a", std::to_string(i - 10)));
    evaluator_->Begin(i, store_.get());
    ASSERT_TRUE(Text(n).ok());
    most = std::max(most, evaluator_->MemoryBytes());
  }
  EXPECT_LT(most, 2'000'000u);
  EXPECT_EQ(Text(n)->size(), 10u);
}

}  // namespace
}  // namespace pitwall::eval
