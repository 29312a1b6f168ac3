// Tests results and memory bounds of windows with tens of thousands of panes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <deque>
#include <random>

#include "services/model/value.h"
#include "services/window/store/series_table.h"
#include "services/window/store/store_snapshot.h"
#include "services/window/testing/series_store.h"

namespace pitwall::window {
namespace {

constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kMonth = 43'200;  // in minutes

Demand Minutes(WindowFunction function, int64_t range) {
  return Window(function, 60 * range, Duration::Minutes(1));
}

// Compares the results for 37 days of samples, one per minute, with those of a plain loop. Near the
// end, the store is restored and one column expires.
TEST(LongWindow, ThirtyDayWindowMatchesPlainLoop) {
  const std::vector<Demand> demands = {Minutes(WindowFunction::kSum, kMonth),
                                       Minutes(WindowFunction::kMax, kMonth),
                                       Minutes(WindowFunction::kIncrease, kMonth)};
  const auto set = SetOf(demands);
  auto store = std::make_unique<SeriesStore>(set, Limits());
  std::vector<SeriesId> ids = {*store->Intern(M("a")), *store->Intern(M("b"))};
  std::mt19937_64 random(11);
  SCOPED_TRACE("seed 11");
  std::deque<double> truth;  // samples of b; integers, so sums are exact
  double counter = 0;
  for (int64_t minute = 1; minute <= kMonth + 10'000; ++minute) {
    counter += static_cast<double>(random() % 1000);
    if (random() % 5000 == 0) counter = 0;
    truth.push_back(counter);
    if (static_cast<int64_t>(truth.size()) > kMonth) truth.pop_front();
    const std::vector<double> row = {minute < 100 ? 1.0 : MissingValue(), counter};
    ASSERT_TRUE(store->Append({At(minute * kMinute - kSecond), "s", "boot", 1, 0}, ids, row).ok());
    store->SealTo(At(minute * kMinute));
    if (minute == kMonth + 5'000) {
      store = Restored(*store);
      EXPECT_THAT(store->Expire(), testing::ElementsAre(ids[0]));
      ids = {SeriesStore::kUnwanted, ids[1]};
    }
    if (minute % 997 != 0 && minute < kMonth + 9'900) continue;
    store->BeginTick(At(minute * kMinute));
    const size_t b = store->series().count() - 1;
    double sum = 0, max = truth[0], increase = truth.back() - truth.front();
    for (size_t i = 0; i < truth.size(); ++i) {
      sum += truth[i];
      max = std::max(max, truth[i]);
      if (i > 0 && truth[i] < truth[i - 1]) increase += truth[i - 1];
    }
    ASSERT_EQ(store->results().Read(0, {}).values[b], sum) << minute;
    ASSERT_EQ(store->results().Read(1, {}).values[b], max) << minute;
    const double got = store->results().Read(2, {}).values[b];  // extrapolated by up to a minute
    ASSERT_NEAR(got, increase, increase * 0.02 + 2000) << minute;
    for (uint32_t d = 0; d < 3; ++d) EXPECT_TRUE(store->results().StatusOf(d).ok());
  }
}

size_t BytesOfMonth(size_t columns, size_t old_columns, bool noise) {
  SeriesStore store(SetOf({Minutes(WindowFunction::kAvg, kMonth)}), Limits());
  std::vector<SeriesId> ids;
  for (size_t i = 0; i < columns; ++i) ids.push_back(*store.Intern(M(std::to_string(i))));
  std::mt19937_64 random(12);
  std::vector<double> row(columns);
  for (int64_t minute = 1; minute <= kMonth; ++minute) {
    for (size_t i = 0; i < columns; ++i) {
      row[i] = noise ? std::uniform_real_distribution<double>(0, 1)(random) : 0.999;
      if (i >= old_columns && minute < kMonth - 30) row[i] = MissingValue();
    }
    EXPECT_TRUE(store.Append({At(minute * kMinute), "s", "boot", 1, 0}, ids, row).ok());
    store.SealTo(At(minute * kMinute));
  }
  return store.MemoryBytes();
}

TEST(LongWindow, MemoryIsProportionalToSamples) {
  const size_t none = BytesOfMonth(20, 0, true), old = BytesOfMonth(20, 20, true),
               constant = BytesOfMonth(20, 20, false);
  std::printf(
      "memory: 20 series of minutes, window of 30 days: %zu bytes, noise %zu, constant %zu\n", none,
      old, constant);
  EXPECT_LT(none, size_t{20} * 40'000);                // the series are half an hour old
  EXPECT_LT(old, size_t{20} * (kMonth * 9 + 40'000));  // noise does not compress
  EXPECT_LT(constant, size_t{20} * (kMonth + 40'000));
}

// A window over its memory limit reports an error and later recovers. A shorter window is not
// affected.
TEST(LongWindow, WindowOverMemoryLimitHasNoResult) {
  Limits limits;
  limits.max_window_bytes = 40'000;
  Fixture f({Minutes(WindowFunction::kSum, 10'000), Minutes(WindowFunction::kSum, 2'000)}, limits);
  std::mt19937_64 random(13);
  const auto fill = [&](int64_t from, int64_t to, bool noise) {
    for (int64_t minute = from; minute < to; ++minute) {
      ASSERT_TRUE(f.Put(minute * kMinute, noise ? static_cast<double>(random()) : 1.0).ok());
      f.Tick(minute * 60);
      f.Get(0);
      f.Get(1);
    }
  };
  fill(1, 4'000, true);
  EXPECT_TRUE(f.Get(0).has_value());
  EXPECT_TRUE(f.store.results().StatusOf(0).ok());
  fill(4'000, 9'000, true);
  EXPECT_FALSE(f.Get(0).has_value());
  EXPECT_EQ(f.store.results().StatusOf(0).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(f.store.results().StatusOf(0).message()),
              testing::HasSubstr("the limit of 40000 bytes (max_window_bytes)"));
  EXPECT_TRUE(f.Get(1).has_value());
  EXPECT_TRUE(f.store.results().StatusOf(1).ok());

  const auto restored = Restored(f.store, limits);
  restored->BeginTick(At((9'000 - 1) * kMinute));
  EXPECT_EQ(restored->results().Read(0, {}).present[0], 0);
  EXPECT_EQ(restored->results().Read(1, {}).present[0], 1);

  fill(9'000, 20'000, false);  // the samples compress to almost nothing
  EXPECT_EQ(f.Get(0), 10'000.0);
  EXPECT_TRUE(f.store.results().StatusOf(0).ok());
}

}  // namespace
}  // namespace pitwall::window
