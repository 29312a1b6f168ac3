// Tests windows that keep every sample, in particular the sample limit and the recovery after
// exceeding it.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <random>

#include "services/model/value.h"
#include "services/window/functions/order_statistics.h"
#include "services/window/functions/rank_tracker.h"
#include "services/window/store/series_store.h"
#include "services/window/store/store_snapshot.h"
#include "services/window/testing/series_store.h"

namespace pitwall::window {
namespace {

TEST(OrderedWindow, QuantileOverLimit_IsErrorUntilWithinLimit) {
  Fixture f({Window(WindowFunction::kQuantile, 10), Window(WindowFunction::kSum, 10)});
  const SeriesId b = *f.store.Intern(M("b"));
  const auto put_b = [&](int64_t at) {
    ASSERT_TRUE(f.store
                    .Append({At(at), "t", "boot", ++f.sequence, 0}, std::vector<SeriesId>{b},
                            std::vector<double>{2})
                    .ok());
  };
  for (int i = 0; i < 6000; ++i) ASSERT_TRUE(f.Put(kSecond + i * 100'000, i).ok());
  put_b(kSecond);
  f.Tick(2);
  EXPECT_EQ(f.Get(0), std::nullopt);
  EXPECT_EQ(f.Get(1), 6000.0 * 5999 / 2);
  EXPECT_EQ(f.store.results().StatusOf(0).code(), absl::StatusCode::kResourceExhausted);
  const Column column = f.store.results().Read(0, kLeast);
  EXPECT_EQ(column.present[1], 1);
  for (int64_t t = 3; t <= 40; ++t) {
    ASSERT_TRUE(f.Put(t * kSecond, static_cast<double>(t)).ok());
    f.Tick(t);
  }
  EXPECT_TRUE(f.store.results().StatusOf(0).ok());
  EXPECT_EQ(f.Get(0), 31);  // φ = 0 gives the minimum of 31..40
}

// Every pane has several samples. Samples that were dropped while the window was over its limit
// must not prevent its recovery.
TEST(OrderedWindow, RecoveredStoreEqualsRestoredStore) {
  const std::vector<Demand> demands{Window(WindowFunction::kQuantile, 10),
                                    Window(WindowFunction::kQuantile, 7)};
  Fixture f(demands);
  const auto set = std::make_shared<DemandSet>(f.store.results().demands());
  std::vector<bool> full;
  for (int64_t t = 1; t <= 60; ++t) {
    const int64_t samples = t > 13 && t <= 22 ? 1500 : 10;
    for (int64_t i = 1; i <= samples; ++i)
      ASSERT_TRUE(f.Put((t - 1) * kSecond + i * kSecond / samples, static_cast<double>(t)).ok());
    BinaryWriter out;
    StoreSnapshot::Save(f.store, out);
    BinaryReader in(out.data());
    const auto restored = StoreSnapshot::Restore(in, set, {});
    ASSERT_TRUE(restored.ok());
    f.Tick(t);
    (*restored)->SealTo(At(t * kSecond));
    (*restored)->BeginTick(At(t * kSecond));
    for (uint32_t d = 0; d < 2; ++d) {
      const auto live = f.Get(d);
      const Column again = (*restored)->results().Read(d, kLeast);
      ASSERT_EQ(live.has_value(), again.present[0] != 0) << "tick " << t << " demand " << d;
      ASSERT_EQ(f.store.results().StatusOf(d), (*restored)->results().StatusOf(d));
      if (!live) continue;
      ASSERT_EQ(*live, again.values[0]);
      // φ = 0 gives the minimum: the oldest value.
      ASSERT_EQ(*live, static_cast<double>(std::max<int64_t>(1, t - (d == 0 ? 9 : 6))));
    }
    full.push_back(f.store.results().StatusOf(0).ok());
  }
  EXPECT_FALSE(full[20]);
  EXPECT_TRUE(full[39]);  // retried at each multiple of ten panes
}

// Reads more quantiles than are tracked at the same time and compares the bits of the results. The
// data drifts, rises, jumps, or repeats. Starting at tick `mad_from`, it also reads a median
// absolute deviation, which requires sorted samples.
void ExpectQuantilesOf(int data, int mad_from) {
  constexpr int64_t kRange = 50;
  Fixture f({Window(WindowFunction::kQuantile, kRange), Window(WindowFunction::kMad, kRange)});
  std::mt19937_64 random(31);
  SCOPED_TRACE(testing::Message() << "seed 31, data " << data << ", mad from " << mad_from);
  std::deque<std::pair<int64_t, double>> truth;
  double value = 0;
  for (int64_t t = 1; t <= 700; ++t) {
    const uint64_t samples = random() % 30 == 0 ? random() % 40 : random() % 12 == 0 ? 0 : 1;
    for (uint64_t k = 1; k <= samples; ++k) {
      const double noise = std::normal_distribution<double>(0, 1)(random);
      if (data == 0) value = noise;
      if (data == 1) value += 0.1 + noise * 0.01;
      if (data == 2) value = static_cast<double>(random() % 4);
      if (data == 3) value = random() % 9 == 0 ? NormalNan() : random() % 9 == 0 ? -kInf : noise;
      const int64_t at = (t - 1) * kSecond + static_cast<int64_t>(k) * kSecond / 50;
      ASSERT_TRUE(f.Put(at, value).ok());
      truth.emplace_back(at, value);
    }
    while (!truth.empty() && truth.front().first <= (t - kRange) * kSecond) truth.pop_front();
    f.Tick(t);
    std::vector<double> window;
    for (const auto& [at, sample] : truth) window.push_back(sample);
    for (int k = 0; k < 12; ++k) {
      if (random() % 3 == 0) continue;
      const double phi = k / 11.0;
      const Column column = f.store.results().Read(0, std::vector<double>{phi});
      ASSERT_EQ(column.present[0] != 0, !window.empty());
      if (window.empty()) continue;
      const double want = QuantileOf(window, phi);
      if (std::isnan(want) && std::isnan(column.values[0])) continue;
      ASSERT_EQ(std::bit_cast<uint64_t>(column.values[0]), std::bit_cast<uint64_t>(want))
          << "tick " << t << " quantile " << phi;
    }
    if (t < mad_from || window.empty()) continue;
    const double mad = f.store.results().Read(1, {}).values[0], want = MadOf(window);
    ASSERT_TRUE(std::isnan(want) ? std::isnan(mad) : mad == want) << t;
  }
}

TEST(OrderedWindow, QuantilesMatchSamplesExactly) {
  for (int data = 0; data < 4; ++data) {
    ExpectQuantilesOf(data, 1000);
    ExpectQuantilesOf(data, 300);
  }
}

// While the rank does not move, the samples are not reread.
TEST(RankTracker, NoiseRarelyRequiresFill) {
  RankTracker tracker(0.95);
  tracker.Resize(1);
  std::mt19937_64 random(32);
  SCOPED_TRACE("seed 32");
  std::deque<int64_t> window;
  int fills = 0;
  for (int k = 0; k < 20'000; ++k) {
    const auto key = static_cast<int64_t>(random() % 100'000);
    if (window.size() == 300) {
      tracker.Remove(0, window.front());
      window.pop_front();
    }
    window.push_back(key);
    tracker.Insert(0, key, window.size());
    double value = 0;
    std::vector<int64_t> keys(window.begin(), window.end());
    if (!tracker.Get(0, window.size(), &value)) {
      ++fills;
      tracker.Fill(0, keys);
      ASSERT_TRUE(tracker.Get(0, window.size(), &value));
    }
    std::sort(keys.begin(), keys.end());
    const Rank rank(0.95, keys.size());
    ASSERT_EQ(value, rank.Between(keys[rank.below], keys[rank.above])) << k;
  }
  EXPECT_LT(fills, 100);
}

}  // namespace
}  // namespace pitwall::window
