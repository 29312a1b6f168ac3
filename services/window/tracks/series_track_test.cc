// Tests windows with per-series state: the share of time in a state, the first samples of an
// attempt, and the period of outliers. The tests cover cases that random data rarely reaches;
// window_oracle_test.cc covers the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "services/base/text/strings.h"
#include "services/model/value.h"
#include "services/window/store/store_snapshot.h"
#include "services/window/testing/series_store.h"
#include "services/window/tracks/prefix_track.h"
#include "services/window/tracks/sample_track.h"
#include "services/window/tracks/state_track.h"

namespace pitwall::window {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Demand Share(int64_t range_s, int64_t hold_s = 60) {
  Demand demand = Window(WindowFunction::kShare, range_s);
  demand.lookback = hold_s * kSecond;
  return demand;
}
Demand First(WindowFunction function, int64_t samples, int64_t skip = 0) {
  Demand demand = Window(function, 0);
  demand.kind = WindowKind::kFirst;
  demand.range = samples;
  demand.skip = skip;
  return demand;
}
Demand OfAttempt(Demand demand) {
  demand.kind = WindowKind::kAttempt;
  demand.range = 0;
  return demand;
}

TEST(Share, StateHoldsUntilNextSample) {
  Fixture f({Share(10)});
  f.Tick(1);
  EXPECT_EQ(f.Get(), std::nullopt);
  ASSERT_TRUE(f.Put(2 * kSecond, 1).ok());
  f.Tick(2);
  EXPECT_EQ(f.Get(), 1);  // no time has passed, so the current state is used
  ASSERT_TRUE(f.Put(6 * kSecond, 0).ok());
  f.Tick(6);
  EXPECT_EQ(f.Get(), 1);
  f.Tick(10);
  EXPECT_EQ(f.Get(), 0.5);  // on in 2..6 and off in 6..10
  f.Tick(14);
  EXPECT_EQ(f.Get(), 0.2);  // on in 4..6, because the state before the window counts
  f.Tick(16);
  EXPECT_EQ(f.Get(), 0);
}

TEST(Share, StateEndsAtLookbackOrNanOrStaleMarker) {
  Fixture f({Share(100, 5), Share(100, 1000)});
  ASSERT_TRUE(f.Put(10 * kSecond, 2).ok());
  ASSERT_TRUE(f.Put(30 * kSecond, 0).ok());
  ASSERT_TRUE(f.Put(35 * kSecond, kNan).ok());
  ASSERT_TRUE(f.Put(40 * kSecond, -1).ok());
  ASSERT_TRUE(f.Put(50 * kSecond, StaleMarker()).ok());
  f.Tick(60);
  EXPECT_EQ(f.Get(0), 10.0 / 15);  // on in 10..15 and 40..45 and off in 30..35
  EXPECT_EQ(f.Get(1), (20.0 + 10.0) / (20 + 5 + 10));
  f.Tick(149);
  EXPECT_EQ(f.Get(1), 1);  // only 49..50 is in the window
  f.Tick(150);
  EXPECT_EQ(f.Get(1), std::nullopt);
}

TEST(Share, AttemptWindowCoversWholeAttempt) {
  Fixture f({OfAttempt(Share(0)), Share(20)});
  for (int64_t t = 0; t < 1000; ++t) {
    ASSERT_TRUE(f.Put((t + 1) * kSecond, t % 4 == 0 ? 1 : 0).ok());
    f.store.SealTo(At((t + 1) * kSecond));
  }
  f.Tick(1001);
  EXPECT_EQ(f.Get(0), 0.25);
  EXPECT_EQ(f.Get(1), 0.25);
  f.store.BeginAttempt(At(1001 * kSecond + 1));
  f.Tick(1002);
  EXPECT_EQ(f.Get(0), std::nullopt);  // the new attempt has no samples yet
  EXPECT_EQ(f.Get(1), 0.2);           // on for 1 of every 4 s up to 1000, then held at 0
  ASSERT_TRUE(f.Put(1003 * kSecond, 1).ok());
  f.Tick(1004);
  EXPECT_EQ(f.Get(0), 1);
  EXPECT_EQ(Restored(f.store)->results().Read(0).values[0], 1);
}

TEST(Share, TooManyChanges_ErrorClearsOnceTheyExpire) {
  Fixture f({Share(20'000)});
  int64_t t = 1;
  for (; t <= 6000; ++t) ASSERT_TRUE(f.Put(t * kSecond, t % 2 == 0 ? 1 : 0).ok());
  f.Tick(t);
  EXPECT_EQ(f.Get(), std::nullopt);
  EXPECT_THAT(std::string(f.store.results().StatusOf(0).message()),
              testing::HasSubstr("more than 4096 state changes"));
  f.Tick(t + 25'000);
  EXPECT_EQ(f.Get(), std::nullopt);
  EXPECT_TRUE(f.store.results().StatusOf(0).ok());
}

TEST(Share, MemoryGrowsWithChangesOnly) {
  Fixture f({Share(4000)});
  size_t early = 0;
  for (int64_t t = 1; t <= 4000; ++t) {
    ASSERT_TRUE(f.Put(t * kSecond, 7).ok());
    f.Tick(t);
    EXPECT_EQ(f.Get(), 1);
    if (t == 100) early = f.store.MemoryBytes();
  }
  EXPECT_EQ(f.store.MemoryBytes(), early);
}

TEST(FirstSamples, WindowFreezesWhenFull) {
  Fixture f({First(WindowFunction::kQuantile, 3, 2), First(WindowFunction::kSum, 3, 2),
             First(WindowFunction::kCount, 1)});
  const double half[] = {0.5};
  const auto median = [&] {
    const Column column = f.store.results().Read(0, half);
    return column.present[0] ? std::optional(column.values[0]) : std::nullopt;
  };
  const double values[] = {100, 100, 1, kNan, 2, StaleMarker(), 9};
  int64_t t = 0;
  for (const double value : values) {
    ASSERT_TRUE(f.Put(++t * kSecond, value).ok());
    f.Tick(t);
    EXPECT_EQ(median().has_value(), t == 7) << t;
    EXPECT_EQ(f.Get(2), 1);
  }
  EXPECT_EQ(median(), 2);
  EXPECT_EQ(f.Get(1), 12);
  for (; t < 50; ++t) ASSERT_TRUE(f.Put((t + 1) * kSecond, 1000).ok());
  f.Tick(t);
  EXPECT_EQ(median(), 2);
  // Different arguments give different results for the same samples.
  EXPECT_EQ(f.store.results().Read(0, std::vector<double>{1.0}).values[0], 9);
  EXPECT_EQ(median(), 2);
  EXPECT_EQ(Restored(f.store)->results().Read(0, half).values[0], 2);

  f.store.BeginAttempt(At((t + 1) * kSecond));
  f.Tick(t + 1);
  EXPECT_EQ(median(), std::nullopt);
  const auto restored = Restored(f.store);
  for (SeriesStore* store : {&f.store, restored.get()}) {
    for (int64_t i = 2; i <= 6; ++i) {
      ASSERT_TRUE(store
                      ->Append({At((t + i) * kSecond), "s", "boot", 1000, 0},
                               std::vector<SeriesId>{f.a},
                               std::vector<double>{-1.0 * static_cast<double>(i)})
                      .ok());
    }
    store->SealTo(At((t + 6) * kSecond));
    store->BeginTick(At((t + 6) * kSecond));
    EXPECT_EQ(store->results().Read(0, half).values[0], -5);
    EXPECT_TRUE(store->results().Read(0, half).present[0]);
  }
}

// A demand added by a reload ignores earlier samples and samples recorded at that tick.
TEST(SeriesTracks, NewDemandIgnoresSamplesBeforeReload) {
  Fixture f({Instant(60)});
  ASSERT_TRUE(f.Put(9 * kSecond, 1).ok());
  f.Tick(10);
  f.store.Replace(SetOf({Instant(60), Share(10), First(WindowFunction::kSum, 1)}));
  ASSERT_TRUE(f.store.results().Filling(2).has_value());
  EXPECT_EQ(f.store.results().Filling(2)->has, 0);
  EXPECT_EQ(f.store.results().Filling(2)->wants, 1);
  f.store.Record(f.a, At(10 * kSecond), 1);
  EXPECT_EQ(f.Get(1), std::nullopt);
  EXPECT_EQ(f.Get(2), std::nullopt);
  ASSERT_TRUE(f.Put(12 * kSecond, 0).ok());
  f.Tick(14);
  EXPECT_EQ(f.Get(1), 0);
  EXPECT_EQ(f.Get(2), 0);
  EXPECT_FALSE(f.store.results().Filling(2).has_value());
  EXPECT_FALSE(f.store.results().Filling(1).has_value());
}

TEST(FirstSamples, FillingReportsFullestSeries) {
  Fixture f({First(WindowFunction::kSum, 2, 3)});
  ASSERT_TRUE(f.store.results().Filling(0).has_value());
  EXPECT_EQ(f.store.results().Filling(0)->wants, 5);
  for (int64_t t = 1; t <= 5; ++t) {
    EXPECT_EQ(f.store.results().Filling(0)->has, t - 1);
    ASSERT_TRUE(f.Put(t * kSecond, 1).ok());
    f.Tick(t);
  }
  EXPECT_FALSE(f.store.results().Filling(0).has_value());
}

TEST(FirstSamples, OffsetDelaysFirstResult) {
  Demand demand = First(WindowFunction::kSum, 2);
  demand.offset = 10 * kSecond;
  Fixture f({demand});
  ASSERT_TRUE(f.Put(1 * kSecond, 1).ok());
  ASSERT_TRUE(f.Put(5 * kSecond, 2).ok());
  f.Tick(14);
  EXPECT_EQ(f.Get(), std::nullopt);
  f.Tick(15);
  EXPECT_EQ(f.Get(), 3);
}

TEST(FirstSamples, SamplesSurviveExpiryButNotReset) {
  Fixture f({First(WindowFunction::kSum, 2), Instant(60)});
  ASSERT_TRUE(f.Put(1 * kSecond, 1).ok());
  ASSERT_TRUE(f.Put(2 * kSecond, 2).ok());
  f.Tick(100'000);
  EXPECT_TRUE(f.store.Expire().empty());
  EXPECT_EQ(f.Get(), 3);
  f.store.Reset();
  ASSERT_TRUE(f.Put(100'001 * kSecond, 5).ok());
  f.Tick(100'001);
  EXPECT_EQ(f.Get(), std::nullopt);
  ASSERT_TRUE(f.Put(100'002 * kSecond, 6).ok());
  f.Tick(100'002);
  EXPECT_EQ(f.Get(), 11);
}

TEST(SeriesTracks, ValidateReportsReasonForRejection) {
  const auto message = [](const Demand& demand) {
    return std::string(ValidateDemand(demand).message());
  };
  EXPECT_EQ(message(Share(60)), "");
  EXPECT_EQ(message(OfAttempt(Share(0))), "");
  EXPECT_EQ(message(Share(1'000'000)), "");  // the window has no panes
  EXPECT_THAT(message(Share(60, 0)), testing::HasSubstr("look-back"));
  Demand demand = Share(60);
  demand.kind = WindowKind::kSamples;
  EXPECT_THAT(message(demand), testing::HasSubstr("function"));
  EXPECT_THAT(message(First(WindowFunction::kShare, 5)), testing::HasSubstr("function"));
  EXPECT_EQ(message(First(WindowFunction::kMad, SeriesStore::kMaxFirstSamples)), "");
  EXPECT_THAT(message(First(WindowFunction::kMad, SeriesStore::kMaxFirstSamples + 1)),
              testing::HasSubstr("the limit is 1024"));
  EXPECT_THAT(message(First(WindowFunction::kSum, 0)), testing::HasSubstr("range"));
  EXPECT_THAT(message(First(WindowFunction::kSum, 5, -1)), testing::HasSubstr("skip"));
  EXPECT_THAT(message(OfAttempt(Window(WindowFunction::kOutlierPeriod, 0))),
              testing::HasSubstr("every sample"));
}

// If any byte changes, Load fails or succeeds, but never crashes or leaves a column out of order.
TEST(SeriesTracks, DamagedStateIsRejected) {
  StateTrack states(Duration::Minutes(1), Position::Earliest(), 100);
  PrefixTrack first(3, 1, Position::Earliest());
  const uint32_t zero = 0;
  for (int64_t t = 1; t < 9; ++t) {
    const double value = static_cast<double>(t % 2);
    for (SeriesTrack* track :
         {static_cast<SeriesTrack*>(&states), static_cast<SeriesTrack*>(&first)}) {
      track->SetColumns(1);
      track->Scatter(At(t * kSecond), {&zero, 1}, {&zero, 1}, &value);
    }
  }
  for (SeriesTrack* track :
       {static_cast<SeriesTrack*>(&states), static_cast<SeriesTrack*>(&first)}) {
    BinaryWriter out;
    track->Save(out);
    size_t refused = 0;
    for (size_t at = 0; at < out.data().size(); ++at) {
      for (const unsigned flip : {0x01U, 0x40U, 0x80U}) {
        std::string bytes = out.data();
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ flip);
        BinaryReader in(bytes);
        track->Load(in, 1);
        refused += in.Finish("track").ok() ? 0 : 1;
      }
    }
    EXPECT_GT(refused, 0u);
    BinaryReader cut(std::string_view(out.data()).substr(0, out.data().size() - 1));
    track->Load(cut, 1);
    EXPECT_FALSE(cut.Finish("track").ok());
    BinaryReader whole(out.data());
    track->Load(whole, 1);
    EXPECT_TRUE(whole.Finish("track").ok());
    BinaryWriter again;
    track->Save(again);
    EXPECT_EQ(again.data(), out.data());
  }
}

TEST(SeriesTracks, InvalidShrinkLimitIsRejected) {
  const auto loads = [](uint64_t limit, bool states) {
    BinaryWriter out;
    if (states) out.I64(Position::Earliest().ns());  // position after which samples count
    out.U64(1);
    out.I64(Position::Earliest().ns());  // position of the last dropped sample
    out.U64(limit);
    out.U64(0);
    BinaryReader in(out.data());
    SampleTrack samples(100);
    StateTrack of_states(Duration::Minutes(1), Position::Earliest(), 100);
    (states ? static_cast<SeriesTrack&>(of_states) : samples).Load(in, 1);
    return in.Finish("track").ok();
  };
  for (const bool states : {false, true}) {
    EXPECT_TRUE(loads(64, states));
    EXPECT_FALSE(loads(0, states));
    EXPECT_FALSE(loads(UINT32_MAX, states));
  }
}

// When a snapshot is taken, a series may already be known although its rows have not been sealed
// yet.
TEST(SeriesTracks, SeriesAddedAfterLastSeal_AreRestored) {
  Demand samples = Window(WindowFunction::kSum, 10);
  samples.kind = WindowKind::kSamples;
  samples.range = 10;
  samples.lookback = 60 * kSecond;
  const std::vector<Demand> demands{Window(WindowFunction::kSum, 60), samples};
  Fixture f(demands);
  ASSERT_TRUE(f.Put(kSecond, 1).ok());
  f.Tick(1);
  std::vector<SeriesId> late;
  for (int i = 0; i < 100; ++i) late.push_back(*f.store.Intern(M(Cat("late", i))));
  ASSERT_TRUE(
      f.store.Append({At(2 * kSecond), "s", "boot", 9, 0}, late, std::vector<double>(100, 5)).ok());
  const auto restored = Restored(f.store);
  EXPECT_EQ(Saved(*restored), Saved(f.store));
  restored->SealTo(At(2 * kSecond));
  restored->BeginTick(At(2 * kSecond));
  for (uint32_t d = 0; d < 2; ++d) {
    const Column column = restored->results().Read(d, kLeast);
    EXPECT_EQ(column.values[0], 1);
    EXPECT_EQ(column.values[100], 5);
    EXPECT_TRUE(column.present[100]);
  }
}

}  // namespace
}  // namespace pitwall::window
