// Tests that a tick in steady state does not allocate memory. The test replaces operator new with a
// version that counts calls.
#include <gtest/gtest.h>

#include "rules/eval/evaluator.h"
#include "rules/eval/testing/count_allocations.h"
#include "rules/eval/testing/fake_store.h"

namespace pitwall::eval {
namespace {

TEST(Allocation, SteadyStateDoesNotAllocate) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer counts for itself";
  ProgramBuilder b;
  const auto a = b.Metric("a");
  const auto c = b.Metric("c");
  const auto both = b.Metric("a|c", false);  // equal labels except the name, with gaps
  plan::Matching on{true, {"x"}, plan::Cardinality::kManyToOne, {"z"}};
  std::vector<plan::NodeId> roots = {
      b.Binary(BinaryOp::kGt, a, b.Number(3)),
      b.Binary(BinaryOp::kDiv, a, b.Metric("b")),
      b.Binary(BinaryOp::kMul, a, b.Metric("info"), on),
      b.Aggregate(AggregateOp::kAvg, a, {"x"}),
      b.Aggregate(AggregateOp::kQuantile, a, {"y"}, false, b.Number(0.9)),
      b.Aggregate(AggregateOp::kStddev, b.Negate(a), {}, false),
      b.Set(plan::SetOp::kOr, a, c),
      b.Set(plan::SetOp::kUnless, a, c),
      b.Call(plan::FunctionId::kClamp, {a, b.Number(1), b.Number(4)}),
      b.Call(plan::FunctionId::kAbsent, {c}),
      b.Binary(BinaryOp::kAdd, b.Call(plan::FunctionId::kScalar, {c}), b.Time()),
      both,
      b.PeerScore(a, {"y"}),
      b.Call(plan::FunctionId::kBaselineScore, {a, b.Metric("b", false), b.Metric("b", false)}),
      b.Call(plan::FunctionId::kHistogramDistance, {b.Metric("h"), b.Metric("i")}),
      b.PeerHistograms(b.Metric("h"), {}),
      b.WindowHistogram("a", 0, 10, 5),
  };
  const auto program = b.Build();
  FakeStore store(program->domains[0]);
  for (int x = 0; x < 50; ++x) {
    for (const char* y : {"p", "q", "r"}) {
      const std::string xs = std::to_string(x);
      store.Set(Labels({{"__name__", "a"}, {"x", xs}, {"y", y}}), x);
      store.Set(Labels({{"__name__", "b"}, {"x", xs}, {"y", y}}), x + 1);
      store.Set(Labels({{"__name__", "c"}, {"x", xs}, {"y", y}}), std::nullopt);
    }
    const std::string xs = std::to_string(x);
    store.Set(Labels({{"__name__", "info"}, {"x", xs}, {"z", "1"}}), 1);
    for (const char* le : {"1", "2", "+Inf"}) {
      store.Set(Labels({{"__name__", "h"}, {"x", xs}, {"le", le}}), 3 + (le[0] - '+'));
      store.Set(Labels({{"__name__", "i"}, {"x", xs}, {"le", le}}), 5 + (le[0] - '+'));
    }
    store.Set(Labels({{"__name__", "info"}, {"x", xs}, {"z", "2"}}), std::nullopt);
  }
  Evaluator evaluator(program, 0);
  const auto tick = [&](int64_t t) {
    evaluator.Begin(t, &store);
    double sum = 0;
    for (const plan::NodeId root : roots) {
      const auto r = evaluator.Evaluate(root);
      if (!r.ok()) return -1.0;
      for (size_t i = 0; i < (*r)->size(); ++i) sum += (*r)->present[i] != 0;
    }
    return sum;
  };
  const double first = tick(1);
  ASSERT_GT(first, 500);
  tick(1);  // second tick, which discards label sets that only binding needed
  const uint64_t binds = evaluator.binds();
  const uint64_t before = g_allocations.load();
  double sum = 0;
  for (int t = 2; t < 100; ++t) sum += tick(t);
  EXPECT_EQ(g_allocations.load() - before, 0u);
  EXPECT_EQ(sum, first * 98);
  EXPECT_EQ(evaluator.binds(), binds);
  // A new series causes an allocation. This shows that the counter works.
  store.Set(Labels({{"__name__", "a"}, {"x", "new"}}), 1);
  const uint64_t again = g_allocations.load();
  tick(100);
  EXPECT_GT(g_allocations.load(), again);
}

}  // namespace
}  // namespace pitwall::eval
