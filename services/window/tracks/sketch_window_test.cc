#include "services/window/tracks/sketch_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "services/model/value.h"
#include "services/window/functions/order_statistics.h"
#include "services/window/testing/series_store.h"

namespace pitwall::window {
namespace {

// A window over panes of ten nanoseconds.
WindowShape Shape(int64_t panes, int64_t delay) {
  return {{.length = Duration::Nanos(10)}, {panes, delay}};
}

TEST(SketchBuckets, RelativeErrorIsBounded) {
  std::mt19937_64 random(21);
  SCOPED_TRACE("seed 21");
  double worst = 0;
  for (int k = 0; k < 1'000'000; ++k) {
    const double x = std::bit_cast<double>(random());
    if (!std::isnormal(x)) continue;
    const double middle = SketchValueOf(SketchBucketOf(x));
    ASSERT_TRUE(std::isfinite(middle)) << x;
    worst = std::max(worst, std::fabs(middle - x) / std::fabs(x));
  }
  EXPECT_LE(worst, kSketchError * (1 + 1e-12));
  EXPECT_GT(worst, kSketchError * 0.99);  // the bound is tight
}

TEST(SketchBuckets, SpecialValuesAreExact) {
  const double max = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::min();
  for (const double x : {0.0, kInf, -kInf}) EXPECT_EQ(SketchValueOf(SketchBucketOf(x)), x);
  EXPECT_TRUE(std::isnan(SketchValueOf(SketchBucketOf(NormalNan()))));
  EXPECT_TRUE(std::isnan(SketchValueOf(SketchBucketOf(-NormalNan()))));
  EXPECT_EQ(SketchBucketOf(least / 2), 0);  // a subnormal number
  EXPECT_EQ(SketchBucketOf(-0.0), 0);
  const std::vector<double> sorted = {NormalNan(), -kInf, -max, -1.02, -1,  -least,
                                      0,           least, 1,    1.02,  max, kInf};
  for (size_t i = 1; i < sorted.size(); ++i)
    EXPECT_LT(SketchBucketOf(sorted[i - 1]), SketchBucketOf(sorted[i])) << sorted[i];
}

// Compares the sketch with exact quantiles of the samples. Covers long silences, bursts within one
// pane, repeated values, restores, and moved columns.
TEST(SketchWindow, QuantilesMatchSamplesWithinError) {
  std::mt19937_64 random(22);
  SCOPED_TRACE("seed 22");
  for (const auto& [panes, delay] :
       {std::pair{600, 0}, std::pair{40, 7}, std::pair{1, 0}, std::pair{0, 3}}) {
    SketchWindow window(Shape(panes, delay), 1 << 20);
    window.SetColumns(3);
    struct Sample {
      int64_t position;
      double value;
    };
    std::vector<Sample> truth;
    uint32_t column = 1;
    int64_t at = 0;
    for (int round = 0; round < 4000; ++round) {
      at += static_cast<int64_t>(random() % 20 == 0 ? random() % 9000 : random() % 4) + 1;
      double value = std::exp(std::normal_distribution<double>(0, 2)(random));
      if (random() % 4 == 0) value = 7;
      if (random() % 8 == 0) value = -value;
      if (random() % 500 == 0) value = kInf;
      const uint32_t cell = 0;
      window.Scatter(At(at), {&cell, 1}, {&column, 1}, &value);
      truth.push_back({at, value});
      if (random() % 40 == 0) {
        const uint32_t moved = (column + 1) % 3;
        std::vector<uint32_t> keep(3, UINT32_MAX);
        keep[moved] = column;
        window.Remap(keep);
        column = moved;
      }
      if (random() % 40 == 0) {
        BinaryWriter out;
        window.Save(out);
        BinaryReader in(out.data());
        SketchWindow restored(Shape(panes, delay), 1 << 20);
        restored.Load(in, 3);
        ASSERT_TRUE(in.Finish("sketch").ok());
        window.Reset();
        window.SetColumns(3);
        BinaryReader again(out.data());
        window.Load(again, 3);
      }
      if (random() % 3 != 0) continue;
      const int64_t tick = (at + 9) / 10 * 10;
      const int64_t end = tick - delay * 10;
      std::vector<double> in_window;
      for (const Sample& s : truth) {
        if (s.position <= end && (panes == 0 || s.position > end - panes * 10))
          in_window.push_back(s.value);
      }
      const double phi = static_cast<double>(random() % 101) / 100;
      double values[3];
      uint8_t present[3];
      window.Read(At(tick), phi, values, present);
      ASSERT_EQ(present[column] != 0, !in_window.empty()) << round;
      ASSERT_EQ(present[(column + 1) % 3], 0);
      ASSERT_FALSE(window.incomplete());
      if (in_window.empty()) continue;
      const double want = QuantileOf(in_window, phi);
      std::vector<double> sizes = in_window;
      std::sort(sizes.begin(), sizes.end());
      const double rank = phi * static_cast<double>(sizes.size() - 1);
      const auto below = static_cast<size_t>(rank);
      const size_t above = std::min(below + 1, sizes.size() - 1);
      const double slack = std::max(std::fabs(sizes[below]), std::fabs(sizes[above]));
      if (std::isnan(want) || std::isinf(want)) {
        ASSERT_EQ(std::isnan(want), std::isnan(values[column]));
        if (std::isinf(want)) {
          ASSERT_EQ(want, values[column]);
        }
        continue;
      }
      ASSERT_NEAR(want, values[column], kSketchError * slack * (1 + 1e-9)) << round;
      ASSERT_LE(sizes.front(), values[column]) << round;
      ASSERT_LE(values[column], sizes.back()) << round;
    }
  }
}

// A quantile of a constant is that constant, and no quantile is outside the range of the window's
// samples. Slowly falling or rising values produce the longest candidate queues.
TEST(SketchWindow, QuantilesStayWithinSampleRange) {
  for (const int64_t delay : {0, 2}) {
    for (const double factor : {1.0, 0.9995, 1.0005, 0.97, -1.0}) {
      SketchWindow window(Shape(200, delay), 1 << 20);
      window.SetColumns(1);
      std::vector<double> truth;
      const uint32_t zero = 0;
      double value = 30;
      for (int64_t pane = 1; pane <= 3000; ++pane, value *= factor) {
        window.Scatter(At(10 * pane), {&zero, 1}, {&zero, 1}, &value);
        truth.push_back(value);
        if (pane % 7 != 0) continue;
        const auto last = truth.end() - std::min<int64_t>(delay, pane);
        const auto first = last - std::min<int64_t>(200, last - truth.begin());
        const auto [least, greatest] = std::minmax_element(first, last);
        const double slack = kSketchError * std::max(std::fabs(*least), std::fabs(*greatest));
        for (const double phi : {0.0, 0.25, 1.0}) {
          double result = 0;
          uint8_t present = 0;
          window.Read(At(10 * pane), phi, &result, &present);
          ASSERT_EQ(present, 1);
          ASSERT_LE(result, *greatest) << factor << " " << pane;
          ASSERT_GE(result, *least) << factor << " " << pane;
          ASSERT_NEAR(result, QuantileOf({first, last}, phi), slack * (1 + 1e-9));
          if (factor == 1) {
            ASSERT_EQ(result, 30);
          }
        }
      }
      ASSERT_LT(window.MemoryBytes(), 40'000);
    }
  }
}

TEST(SketchWindow, TooManySamplesHaveNoResult) {
  SketchWindow window(Shape(100, 0), 50);
  window.SetColumns(1);
  const uint32_t zero = 0;
  double result = 0;
  uint8_t present = 0;
  for (int64_t at = 1; at <= 60; ++at) {
    const auto value = static_cast<double>(at);
    window.Scatter(At(at), {&zero, 1}, {&zero, 1}, &value);
    if (at % 10 != 0) continue;
    window.Read(At(at), 0.5, &result, &present);
    EXPECT_EQ(window.incomplete(), at > 50) << at;
    EXPECT_EQ(present, at > 50 ? 0 : 1);
  }
  // Pane 0, which had dropped samples, has left the window.
  window.Read(At(1010), 0.5, &result, &present);
  EXPECT_FALSE(window.incomplete());
  EXPECT_EQ(present, 1);
  EXPECT_NEAR(result, 35.5, 0.5);
}

TEST(SketchWindow, StoreReadsQuantilesFromSketch) {
  Demand attempt = Window(WindowFunction::kSketchQuantile, 0);
  attempt.kind = WindowKind::kAttempt;
  Fixture f({Window(WindowFunction::kSketchQuantile, 30 * 86'400, Duration::Minutes(1)), attempt});
  const auto get = [&](uint32_t demand, double phi) {
    const Column column = f.store.results().Read(demand, std::vector<double>{phi});
    return column.present[0] != 0 ? column.values[0] : NormalNan();
  };
  std::mt19937_64 random(23);
  for (int64_t k = 1; k <= 2'000; ++k) {
    ASSERT_TRUE(f.Put(k * 60 * kSecond, static_cast<double>(random() % 1000)).ok());
    f.Tick(k * 60);
  }
  for (const double phi : {0.0, 0.5, 0.99, 1.0}) {
    EXPECT_NEAR(get(0, phi), phi * 1000, 40);
    EXPECT_EQ(get(0, phi), get(1, phi));
  }
  EXPECT_EQ(get(0, -1), -kInf);
  EXPECT_EQ(get(0, 2), kInf);
  f.store.BeginAttempt(At(2'001 * 60 * kSecond));
  ASSERT_TRUE(f.Put(2'001 * 60 * kSecond, -8).ok());
  f.Tick(2'001 * 60);
  EXPECT_NEAR(get(1, 0.5), -8, 8 * kSketchError * (1 + 1e-9));
  EXPECT_TRUE(f.store.results().StatusOf(0).ok());
  // The bound covers 2,000 entries, about 300 buckets, and one chunk of open rows.
  EXPECT_LT(f.store.MemoryBytes(), size_t{(1 << 18) + 20'000});
}

}  // namespace
}  // namespace pitwall::window
