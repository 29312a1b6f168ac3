// Windows that keep every sample: their limit, and what comes after it.
#include <gtest/gtest.h>

#include "services/window/series_store.h"
#include "services/window/store_for_test.h"

namespace pitwall::window {
namespace {

TEST(OrderedWindow, QuantileBeyondItsLimitIsAnErrorUntilItIsNot) {
  Fixture f({Window(WindowFunction::kQuantile, 10), Window(WindowFunction::kSum, 10)});
  const SeriesId b = *f.store.Intern(M("b"));
  const auto put_b = [&](int64_t at) {
    ASSERT_TRUE(f.store
                    .Append({at, "t", "boot", ++f.sequence, 0}, std::vector<SeriesId>{b},
                            std::vector<double>{2})
                    .ok());
  };
  for (int i = 0; i < 6000; ++i) ASSERT_TRUE(f.Put(kSecond + i * 100'000, i).ok());
  put_b(kSecond);
  f.Tick(2);
  EXPECT_EQ(f.Get(0), std::nullopt);
  EXPECT_EQ(f.Get(1), 6000.0 * 5999 / 2);
  EXPECT_EQ(f.store.DemandStatus(0).code(), absl::StatusCode::kResourceExhausted);
  const Column column = f.store.Read(0, kLeast);
  EXPECT_EQ(column.present[1], 1);
  for (int64_t t = 3; t <= 40; ++t) {
    ASSERT_TRUE(f.Put(t * kSecond, static_cast<double>(t)).ok());
    f.Tick(t);
  }
  EXPECT_TRUE(f.store.DemandStatus(0).ok());
  EXPECT_EQ(f.Get(0), 31);  // φ = 0: the least of 31..40
}

// Several samples a pane all along: what was dropped while the window was too full must not keep it
// full.
TEST(OrderedWindow, QuantileRecoversFromAFloodAsARestoredStoreDoes) {
  const std::vector<Demand> demands{Window(WindowFunction::kQuantile, 10),
                                    Window(WindowFunction::kQuantile, 7)};
  Fixture f(demands);
  const auto set = std::make_shared<DemandSet>(f.store.demands());
  std::vector<bool> full;
  for (int64_t t = 1; t <= 60; ++t) {
    const int64_t samples = t > 13 && t <= 22 ? 1500 : 10;
    for (int64_t i = 1; i <= samples; ++i)
      ASSERT_TRUE(f.Put((t - 1) * kSecond + i * kSecond / samples, static_cast<double>(t)).ok());
    BinaryWriter out;
    f.store.Save(out);
    BinaryReader in(out.data());
    const auto restored = SeriesStore::Restore(in, set, {});
    ASSERT_TRUE(restored.ok());
    f.Tick(t);
    (*restored)->SealTo(t * kSecond);
    (*restored)->BeginTick(t * kSecond);
    for (uint32_t d = 0; d < 2; ++d) {
      const auto live = f.Get(d);
      const Column again = (*restored)->Read(d, kLeast);
      ASSERT_EQ(live.has_value(), again.present[0] != 0) << "tick " << t << " demand " << d;
      ASSERT_EQ(f.store.DemandStatus(d), (*restored)->DemandStatus(d));
      if (!live) continue;
      ASSERT_EQ(*live, again.values[0]);
      // φ = 0: the least, which is the oldest.
      ASSERT_EQ(*live, static_cast<double>(std::max<int64_t>(1, t - (d == 0 ? 9 : 6))));
    }
    full.push_back(f.store.DemandStatus(0).ok());
  }
  EXPECT_FALSE(full[20]);
  EXPECT_TRUE(full[39]);  // tried again at each multiple of ten panes
}

}  // namespace
}  // namespace pitwall::window
