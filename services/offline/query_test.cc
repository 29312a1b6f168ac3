#include "services/offline/query.h"

#include <gtest/gtest.h>

#include "services/offline/query_order.h"

namespace pitwall::offline {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(RunQuery, EvaluatesAtEachTick) {
  std::vector<QuerySeries> series(1);
  series[0].labels = Labels{{"__name__", "m"}, {"a", "b"}};
  for (int64_t i = 0; i < 10; ++i)
    series[0].samples.emplace_back(i * 10 * kSecond, static_cast<double>(i));
  Query query;
  query.expr = "sum_over_time(m[20s])";
  query.start = 15 * kSecond;
  query.end = 35 * kSecond;
  query.step = 10 * kSecond;
  const auto answer = RunQuery(series, query);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->ticks.size(), 3U);
  EXPECT_EQ(answer->ticks[0].position, 15 * kSecond);
  ASSERT_EQ(answer->ticks[1].elements.size(), 1U);
  EXPECT_EQ(answer->ticks[1].elements[0].value, 3);  // the window is (5 s, 25 s]
  EXPECT_EQ(answer->ticks[1].elements[0].labels, (Labels{{"a", "b"}}));
}

TEST(RunQuery, EvaluatesScalarsAndStrings) {
  Query query;
  query.expr = "1 + 2";
  auto answer = RunQuery({}, query);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->type, QueryType::kScalar);
  EXPECT_EQ(answer->ticks[0].elements[0].value, 3);
  query.expr = "(\"x\")";
  answer = RunQuery({}, query);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text, "x");
}

// Covers reads at fixed and future times that have samples.
TEST(RunQuery, ReadsFixedAndFutureTimes) {
  std::vector<QuerySeries> series(1);
  series[0].labels = Labels{{"__name__", "m"}};
  for (int64_t i = 0; i <= 10; ++i)
    series[0].samples.emplace_back(i * 10 * kSecond, static_cast<double>(i));
  const auto value = [&](std::string expr) {
    Query query;
    query.expr = std::move(expr);
    query.start = query.end = 50 * kSecond;
    const auto answer = RunQuery(series, query);
    EXPECT_TRUE(answer.ok()) << query.expr << answer.status();
    return answer.ok() && !answer->ticks[0].elements.empty() ? answer->ticks[0].elements[0].value
                                                             : -1;
  };
  EXPECT_EQ(value("m @ 20"), 2);
  EXPECT_EQ(value("m @ 80"), 8);
  EXPECT_EQ(value("m offset -30s"), 8);
  EXPECT_EQ(value("m @ 80 offset 20s"), 6);
  EXPECT_EQ(value("m @ 80 + on () m + time()"), 8 + 5 + 50);
  EXPECT_EQ(value("sum_over_time(m[25s] @ 100)"), 8 + 9 + 10);
  EXPECT_EQ(value("timestamp(m @ 75)"), 70);
  EXPECT_EQ(value("sum_over_time(m[20s:10s] @ 90) + minute()"), 8 + 9);
  EXPECT_EQ(value("predict_linear(m[50s], 100) - predict_linear(m[50s] @ 100, 100) * 0 + m @ 0"),
            15);
  Query query;
  query.expr = "sum_over_time((m offset -1s)[20s:10s])";
  EXPECT_EQ(RunQuery(series, query).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(QueryOrder, NaturalOrderComparesNumbersByValue) {
  for (const auto& [a, b] : {std::pair("cpu2", "cpu10"),
                             {"a", "b"},
                             {"a", "a1"},
                             {"2", "10"},
                             {"", "x"},
                             {"a2b", "a10a"},
                             {"7", "x"}}) {
    EXPECT_TRUE(NaturallyBefore(a, b)) << a << " " << b;
    EXPECT_FALSE(NaturallyBefore(b, a)) << a << " " << b;
  }
}

TEST(RunQuery, DistinguishesInvalidFromUnsupported) {
  Query query;
  query.expr = "sum(";
  EXPECT_EQ(RunQuery({}, query).status().code(), absl::StatusCode::kInvalidArgument);
  query.expr = "rate(m)";
  EXPECT_EQ(RunQuery({}, query).status().code(), absl::StatusCode::kInvalidArgument);
  query.expr = "m[5m] anchored";
  EXPECT_FALSE(RunQuery({}, query).ok());
}

}  // namespace
}  // namespace pitwall::offline
