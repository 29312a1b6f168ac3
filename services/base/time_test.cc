#include "services/base/time.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace pitwall {
namespace {

template <typename T>
constexpr bool kIsPlainNumber =
    sizeof(T) == sizeof(int64_t) &&
    std::is_trivially_copyable_v<T>&& std::is_nothrow_default_constructible_v<T> &&
    !std::is_convertible_v<int64_t, T> && !std::is_convertible_v<T, int64_t>;

static_assert(kIsPlainNumber<Duration> && kIsPlainNumber<EventTime> && kIsPlainNumber<Position>);
static_assert(kIsPlainNumber<Step> && kIsPlainNumber<LogOffset>);

template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a < b;
};
template <typename A, typename B>
concept Subtractable = requires(A a, B b) {
  a - b;
};

static_assert(Comparable<EventTime, EventTime> && Subtractable<EventTime, EventTime>);
static_assert(!Comparable<EventTime, AppendTime> && !Subtractable<EventTime, AppendTime>);
static_assert(!Comparable<Position, EventTime> && !Comparable<Position, Step>);
static_assert(!Comparable<MonotonicTime, EventTime>);
static_assert(!Comparable<Step, LogOffset> && !Comparable<EventTime, int64_t>);

TEST(Time, DurationArithmeticMatchesIntegers) {
  EXPECT_EQ(Duration::Seconds(2) + Duration::Millis(5), Duration::Nanos(2'005'000'000));
  EXPECT_EQ(-Duration::Millis(3), Duration::Nanos(-3'000'000));
  EXPECT_EQ(Duration::Days(1), 24 * Duration::Hours(1));
  EXPECT_EQ(Duration::Minutes(3) / Duration::Seconds(50), 3);
  EXPECT_EQ(Duration::Minutes(3) % Duration::Seconds(50), Duration::Seconds(30));
  EXPECT_EQ(Duration::Seconds(3) / 2, Duration::Millis(1'500));
  EXPECT_LT(Duration::Zero(), Duration::Nanos(1));
}

TEST(Time, PointsAndDurationsCombine) {
  const EventTime t = EventTime::FromNs(1'000);
  EXPECT_EQ((t + Duration::Nanos(200)).ns(), 1'200);
  EXPECT_EQ((t - Duration::Nanos(200)).ns(), 800);
  EXPECT_EQ(t.Next() - t.Previous(), Duration::Nanos(2));
  EXPECT_EQ(EventTime().ns(), 0);
  EXPECT_LT(EventTime::Min(), EventTime::Earliest());
  EXPECT_LT(EventTime::Latest(), EventTime::Max());
}

TEST(Time, PositionsConvertOnlyExplicitly) {
  EXPECT_EQ(PositionOf(Step(3)).ns(), 3'000'000'000);
  EXPECT_EQ(StepOf(PositionOf(Step(3)).Next()), Step(3));
  EXPECT_EQ(EventTimeOf(PositionOf(EventTime::FromNs(7))), EventTime::FromNs(7));
}

TEST(Time, MultiplesCountFromOrigin) {
  const auto at = [](int64_t ns) { return Position::FromNs(ns); };
  EXPECT_EQ(FloorTo(at(7), Duration::Nanos(5)), at(5));
  EXPECT_EQ(FloorTo(at(-1), Duration::Nanos(5)), at(-5));
  EXPECT_EQ(FloorTo(at(7), Duration::Nanos(5), at(3)), at(3));
  EXPECT_EQ(NextAfter(at(5), Duration::Nanos(5)), at(10));
}

TEST(Time, StepsAndOffsetsSupportIntegerArithmetic) {
  Step step(4);
  EXPECT_EQ(++step, Step(5));
  EXPECT_EQ(step + 2 - Step(1), 6);
  EXPECT_LT(Step::None(), Step());
  EXPECT_EQ(LogOffset(9) - 1, LogOffset(8));
}

}  // namespace
}  // namespace pitwall
