#include "services/query/stored_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr int64_t kSecond = 1'000'000'000;

// Fixture that stores series and passes each query the samples that it requires.
class StoredQueryTest : public ::testing::Test {
 protected:
  struct Kept {
    Labels labels;
    std::vector<int64_t> times;
    std::vector<double> values;
  };

  // Adds `count` samples, one every 10 s starting at time 0. The values are index * factor.
  void AddRamp(Labels labels, int count, double factor) {
    Kept kept{std::move(labels), {}, {}};
    for (int i = 0; i < count; ++i) {
      kept.times.push_back(i * 10 * kSecond);
      kept.values.push_back(i * factor);
    }
    kept_.push_back(std::move(kept));
  }

  StatusOr<std::vector<AnswerSeries>> Ask(std::string_view text, int64_t start_s, int64_t end_s,
                                          int64_t step_s, const RunLimits& limits = {}) {
    QuerySpan span;
    span.start = start_s * kSecond;
    span.end = end_s * kSecond;
    span.step = step_s * kSecond;
    ASSIGN_OR_RETURN(const StoredQuery query, StoredQuery::Make(text, span));
    read_ = 0;
    std::vector<std::vector<StoredSeries>> feeds;
    for (const StoredQuery::Need& need : query.needs()) {
      feeds.emplace_back();
      for (const Kept& kept : kept_) {
        if (!need.selector.Matches(kept.labels)) continue;
        size_t first = 0, past = 0;
        for (const int64_t time : kept.times) {
          first += time <= need.from ? 1 : 0;
          past += time <= need.to ? 1 : 0;
        }
        read_ += past - first;
        feeds.back().push_back({kept.labels,
                                std::span<const int64_t>(kept.times).subspan(first, past - first),
                                std::span<const double>(kept.values).subspan(first, past - first)});
      }
    }
    return query.Run(feeds, limits);
  }

  // Returns the values of a result that must consist of exactly one series.
  std::vector<double> Values(std::string_view text, int64_t start_s, int64_t end_s,
                             int64_t step_s) {
    const auto answer = Ask(text, start_s, end_s, step_s);
    EXPECT_TRUE(answer.ok()) << text << ": " << answer.status();
    std::vector<double> out;
    if (answer.ok() && answer->size() == 1) {
      for (const auto& [time, value] : (*answer)[0].points) out.push_back(value);
    }
    return out;
  }
  double Value(std::string_view text, int64_t at_s = 50) {
    const std::vector<double> values = Values(text, at_s, at_s, 1);
    return values.size() == 1 ? values[0] : -1;
  }

  std::vector<Kept> kept_;
  size_t read_ = 0;
};

TEST_F(StoredQueryTest, EvaluatesAtEachTick) {
  AddRamp({{"__name__", "m"}, {"a", "b"}}, 10, 1);
  const auto answer = Ask("sum_over_time(m[20s])", 15, 35, 10);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->size(), 1U);
  EXPECT_EQ((*answer)[0].labels, (Labels{{"a", "b"}}));
  EXPECT_THAT((*answer)[0].points,
              ElementsAre(Pair(15 * kSecond, 1), Pair(25 * kSecond, 3), Pair(35 * kSecond, 5)));
}

TEST_F(StoredQueryTest, AppliesOffsetsAndAtModifiers) {
  AddRamp({{"__name__", "m"}}, 11, 1);
  EXPECT_EQ(Value("m @ 20"), 2);
  EXPECT_EQ(Value("m @ 80"), 8);
  EXPECT_EQ(Value("m offset -30s"), 8);
  EXPECT_EQ(Value("m offset 30s"), 2);
  EXPECT_EQ(Value("m @ 80 offset 20s"), 6);
  EXPECT_EQ(Value("m @ 80 + on () m + time()"), 8 + 5 + 50);
  EXPECT_EQ(Value("sum_over_time(m[25s] @ 100)"), 8 + 9 + 10);
  EXPECT_EQ(Value("timestamp(m @ 75)"), 70);
  EXPECT_EQ(Value("sum_over_time(m[20s:10s] @ 90) + minute()"), 8 + 9);
  EXPECT_EQ(Value("predict_linear(m[50s] @ 100, 100)"), 15);
  // Modifiers also work within subqueries and on subqueries.
  EXPECT_EQ(Value("sum_over_time((m offset -10s)[20s:10s])"), 5 + 6);
  EXPECT_EQ(Value("sum_over_time((m @ 30)[20s:10s])"), 3 + 3);
  EXPECT_EQ(Value("sum_over_time(m[20s:10s] offset -40s)"), 8 + 9);
  EXPECT_EQ(Value("max_over_time(sum_over_time(m[20s:10s] @ 90)[30s:10s])"), 17);
}

// Present-day timestamps are large numbers.
TEST_F(StoredQueryTest, AppliesModifiersToPresentDayTimes) {
  constexpr int64_t kToday = 1'790'000'000;
  AddRamp({{"__name__", "m"}}, 11, 1);
  for (int64_t& time : kept_[0].times) time += kToday * kSecond;
  EXPECT_EQ(Value("m @ 1790000020 + m offset -10s", kToday + 30), 2 + 4);
  EXPECT_EQ(Value("max_over_time(m[1m:10s] @ 1790000050 offset 5s)", kToday), 4);
  // Nested offsets that exceed the supported time range do not select any samples.
  EXPECT_EQ(Value("max_over_time(max_over_time(max_over_time(m[1y:1d] offset 15y)[1y:1d] offset "
                  "15y)[1y:1d] offset 15y)",
                  kToday),
            -1);
}

TEST_F(StoredQueryTest, AtStartAndAtEndUseQueryBounds) {
  AddRamp({{"__name__", "m"}}, 11, 1);
  EXPECT_THAT(Values("m @ start() * 100 + m @ end() + 0 * m", 20, 40, 10),
              ElementsAre(204, 204, 204));
  EXPECT_THAT(Values("sum_over_time((m @ end())[20s:10s])", 20, 40, 10), ElementsAre(8, 8, 8));
}

TEST_F(StoredQueryTest, ReadsOnlyNeededSamples) {
  AddRamp({{"__name__", "m"}}, 10'000, 1);
  EXPECT_THAT(Values("sum_over_time(m[20s])", 50'000, 50'020, 10).size(), 3U);
  EXPECT_EQ(read_, 4U);
  // A read at a fixed time requires a separate interval.
  EXPECT_THAT(Values("sum_over_time(m[20s]) - sum_over_time(m[20s] @ 1000)", 90'000, 90'000, 1),
              ElementsAre(9000 + 8999 - 100 - 99));
  EXPECT_EQ(read_, 4U);
  EXPECT_THAT(Values("max_over_time(sum_over_time(m[20s])[30s:10s] offset 1h)", 50'000, 50'000, 1),
              ElementsAre(4640 + 4639));
  EXPECT_EQ(read_, 4U);
}

// Subquery ticks are aligned to multiples of the step, regardless of the outer query's ticks.
TEST_F(StoredQueryTest, SubqueryTicksAreMultiplesOfStep) {
  AddRamp({{"__name__", "m"}}, 20, 1);
  EXPECT_THAT(Values("count_over_time(m[1m:20s])", 63, 123, 30), ElementsAre(3, 3, 3));
  EXPECT_THAT(Values("last_over_time(timestamp(m)[1m:7s])", 63, 77, 14), ElementsAre(60, 70));
}

TEST_F(StoredQueryTest, RangeVectorReturnsSamples) {
  AddRamp({{"__name__", "m"}}, 10, 1);
  kept_[0].values[4] = StaleMarker();
  auto answer = Ask("m[25s]", 50, 50, 1);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->size(), 1U);
  EXPECT_EQ((*answer)[0].labels, (Labels{{"__name__", "m"}}));
  EXPECT_THAT((*answer)[0].points, ElementsAre(Pair(30 * kSecond, 3), Pair(50 * kSecond, 5)));
  answer = Ask("(m * 2)[20s:10s] offset 20s", 50, 50, 1);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->size(), 1U);
  EXPECT_THAT((*answer)[0].points, ElementsAre(Pair(20 * kSecond, 4), Pair(30 * kSecond, 6)));
}

TEST_F(StoredQueryTest, StaleMarkersAndLookbackEndSeries) {
  AddRamp({{"__name__", "m"}}, 6, 1);
  kept_[0].values[3] = StaleMarker();
  EXPECT_THAT(Values("m", 20, 40, 10), ElementsAre(2, 4));
  EXPECT_EQ(Value("m", 349), 5);
  EXPECT_EQ(Value("m", 350), -1);  // the left end of the lookback is exclusive
}

TEST_F(StoredQueryTest, DuplicateLabelSets_ReturnInvalidArgument) {
  AddRamp({{"__name__", "m"}, {"a", "1"}}, 10, 1);
  AddRamp({{"__name__", "n"}, {"a", "1"}}, 10, 1);
  const auto answer = Ask("rate({a=\"1\"}[50s])", 60, 60, 1);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ToStd(answer.status().message()),
              HasSubstr("vector cannot contain metrics with the same labelset"));
}

TEST_F(StoredQueryTest, SmoothingFactorOutOfRange_ReturnsPrometheusError) {
  AddRamp({{"__name__", "m"}}, 10, 1);
  const auto answer = Ask("double_exponential_smoothing(m[50s], 0.5, 1)", 60, 60, 1);
  EXPECT_EQ(ToStd(answer.status().message()),
            "invalid trend factor. Expected: 0 < tf < 1, got: 1.000000");
}

TEST_F(StoredQueryTest, EvaluatesScalarsAndStrings) {
  EXPECT_EQ(Value("1 + 2"), 3);
  auto query = StoredQuery::Make("(\"x\")", {});
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->type(), AnswerType::kString);
  EXPECT_EQ(query->text(), "x");
  query = StoredQuery::Make("time()", {});
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->type(), AnswerType::kScalar);
}

TEST_F(StoredQueryTest, AcceptsAnyWindowLengthAndStep) {
  AddRamp({{"__name__", "m"}}, 2'000, 1);
  QuerySpan span;
  span.start = 19'990 * kSecond + 1;
  span.end = span.start;
  span.step = 1'234'567;  // a streaming rule with this step would need millions of panes
  const auto query = StoredQuery::Make("quantile_over_time(0.5, m[5h])", span);
  ASSERT_TRUE(query.ok()) << query.status();
}

TEST_F(StoredQueryTest, ExceededLimitAbortsRun) {
  AddRamp({{"__name__", "m"}}, 100, 1);
  RunLimits limits;
  limits.points = 50;
  EXPECT_EQ(Ask("m", 0, 990, 10, limits).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Ask("max_over_time(m[990s:10s])", 990, 990, 1, limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  limits = {};
  limits.evaluations = 10;
  EXPECT_EQ(Ask("max_over_time(m[990s:10s])", 990, 990, 1, limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  limits = {};
  int asked = 0;
  limits.check = [&] {
    return ++asked > 3 ? DeadlineExceeded("query timed out in expression evaluation") : OkStatus();
  };
  EXPECT_EQ(Ask("m", 0, 990, 10, limits).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(asked, 4);
}

TEST_F(StoredQueryTest, DistinguishesInvalidFromUnsupported) {
  EXPECT_EQ(StoredQuery::Make("sum(", {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StoredQuery::Make("rate(m)", {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StoredQuery::Make("m[5m] anchored", {}).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(StoredQuery::Make("m @ 1e300", {}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto own = StoredQuery::Make("avg_over_time(m[500 samples])", {});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_TRUE(own->needs_streaming());
}

}  // namespace
}  // namespace pitwall::query
