// Tests the store's contract case by case: rejected input, dropped samples, and the edges of
// windows.
#include "services/window/store/series_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "services/model/value.h"
#include "services/window/store/series_table.h"
#include "services/window/store/store_snapshot.h"
#include "services/window/testing/series_store.h"

namespace pitwall::window {
namespace {

TEST(SeriesStore, WindowIncludesRightEdgeOnly) {
  Fixture f({Window(WindowFunction::kCount, 5), Instant(5)});
  ASSERT_TRUE(f.Put(10 * kSecond, 1).ok());
  f.Tick(10);
  EXPECT_EQ(f.Get(0), 1);
  EXPECT_EQ(f.Get(1), 1);
  f.Tick(14);
  EXPECT_EQ(f.Get(0), 1);
  EXPECT_EQ(f.Get(1), 1);
  f.Tick(15);
  EXPECT_EQ(f.Get(0), std::nullopt);
  EXPECT_EQ(f.Get(1), std::nullopt);
}

TEST(SeriesStore, StaleMarkerEndsOnlyInstantSelector) {
  Fixture f({Window(WindowFunction::kCount, 60), Instant(300),
             Window(WindowFunction::kLastOverTime, 60)});
  ASSERT_TRUE(f.Put(10 * kSecond, 7).ok());
  ASSERT_TRUE(
      f.store.AppendStale({At(11 * kSecond), "s", "boot", 9, 0}, std::vector<SeriesId>{f.a}).ok());
  f.Tick(10);
  EXPECT_EQ(f.Get(1), 7);
  f.Tick(11);
  EXPECT_EQ(f.Get(0), 1);
  EXPECT_EQ(f.Get(1), std::nullopt);
  EXPECT_EQ(f.Get(2), 7);
  EXPECT_EQ(f.store.counters().stale_markers, 1u);
  EXPECT_EQ(f.store.series().last(f.a).position, At(11 * kSecond));
}

TEST(SeriesStore, DuplicatePosition_FirstByRowKeyWins) {
  Fixture f({Instant(60), Window(WindowFunction::kSum, 60)});
  const std::vector<SeriesId> ids{f.a};
  const auto put = [&](std::string_view source, std::string_view boot, uint64_t sequence,
                       uint32_t index, double value) {
    ASSERT_TRUE(f.store
                    .Append({At(5 * kSecond), source, boot, sequence, index}, ids,
                            std::vector<double>{value})
                    .ok());
  };
  put("b", "x", 1, 0, 1);
  put("a", "y", 1, 0, 2);
  put("a", "x", 2, 0, 3);
  put("a", "x", 1, 1, 4);
  put("a", "x", 1, 0, 5);
  f.Tick(5);
  EXPECT_EQ(f.Get(0), 5);
  EXPECT_EQ(f.Get(1), 5);
  EXPECT_EQ(f.store.counters().duplicates, 4u);
}

TEST(SeriesStore, RejectsInvalidInput) {
  Fixture f({Instant(60)}, {.max_series = 2, .max_open_samples = 22});
  f.Tick(10);
  EXPECT_EQ(f.Put(10 * kSecond, 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(f.Put(kMaxPosition, 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(f.Put(kMinPosition, 1).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(f.Put(11 * kSecond, 1).ok());
  ASSERT_TRUE(f.Put(12 * kSecond, 1).ok());
  const Status full = f.Put(13 * kSecond, 1);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), testing::HasSubstr("2 samples in 2 rows"));
  EXPECT_EQ(f.store.OldestOpen(), At(11 * kSecond));
  f.Tick(11);
  EXPECT_TRUE(f.Put(13 * kSecond, 1).ok());

  ASSERT_TRUE(f.store.Intern(M("b")).ok());
  const auto refused = f.store.Intern(M("c"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), testing::HasSubstr("id=\"c\""));
  EXPECT_TRUE(f.store.Intern(M("b")).ok());  // b is already interned
  EXPECT_EQ(f.store.series().count(), 2u);

  EXPECT_FALSE(f.store.Plan({SeriesId(77)}).ok());
  EXPECT_FALSE(
      f.store.Append({At(20 * kSecond), "s", "b", 1, 0}, RowPlanId(99), std::vector<double>{1})
          .ok());
  const RowPlanId plan = *f.store.Plan({f.a});
  EXPECT_FALSE(
      f.store.Append({At(20 * kSecond), "s", "b", 1, 0}, plan, std::vector<double>{1, 2}).ok());
  f.store.ReleasePlan(plan);
  EXPECT_FALSE(
      f.store.Append({At(20 * kSecond), "s", "b", 1, 0}, plan, std::vector<double>{1}).ok());
}

TEST(SeriesStore, ValidateReportsReasonForRejection) {
  const auto message = [](const Demand& demand) {
    return std::string(ValidateDemand(demand).message());
  };
  EXPECT_EQ(message(Window(WindowFunction::kSum, 60)), "");
  EXPECT_EQ(message(Instant(60)), "");
  Demand demand = Window(WindowFunction::kSum, 60);
  demand.kind = WindowKind::kSamples;
  EXPECT_THAT(message(demand), testing::HasSubstr("look-back"));
  demand.lookback = kSecond;
  demand.range = SeriesStore::kMaxOrderedSamples;
  EXPECT_EQ(message(demand), "");
  ++demand.range;
  EXPECT_THAT(message(demand), testing::HasSubstr("the limit is 4096"));
  demand.kind = WindowKind::kAttempt;
  EXPECT_EQ(message(demand), "");
  demand.function = WindowFunction::kQuantile;
  EXPECT_THAT(message(demand), testing::HasSubstr("every sample"));
  EXPECT_THAT(message(Window(WindowFunction::kSum, 0)), testing::HasSubstr("range"));
  EXPECT_THAT(message(Window(WindowFunction::kSum, 60, Duration::Zero())),
              testing::HasSubstr("interval"));
  EXPECT_THAT(message(Window(WindowFunction::kLast, 60)), testing::HasSubstr("function"));
  demand = Window(WindowFunction::kSum, 60);
  demand.offset = -1;
  EXPECT_THAT(message(demand), testing::HasSubstr("offset"));
  EXPECT_THAT(message(Instant(0)), testing::HasSubstr("look-back"));
  EXPECT_EQ(message(Window(WindowFunction::kSum, 65'536)), "");
  EXPECT_EQ(ValidateDemand(Window(WindowFunction::kSum, 65'537)).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(message(Window(WindowFunction::kMad, 4096)), "");  // kMad keeps each sample
  EXPECT_EQ(ValidateDemand(Window(WindowFunction::kMad, 4097)).code(),
            absl::StatusCode::kResourceExhausted);

  // A rejected demand does not affect other demands.
  Fixture f({Window(WindowFunction::kSum, 65'537), Window(WindowFunction::kSum, 60)});
  ASSERT_TRUE(f.Put(kSecond, 1).ok());
  f.Tick(1);
  EXPECT_EQ(f.Get(0), std::nullopt);
  EXPECT_FALSE(f.store.results().StatusOf(0).ok());
  EXPECT_EQ(f.Get(1), 1);
  EXPECT_TRUE(f.store.results().StatusOf(1).ok());
}

TEST(SeriesStore, UnwantedSeriesAreNotStored) {
  Fixture f({Instant(60)});
  const SeriesId other = *f.store.Intern(Labels({{"__name__", "other"}}));
  EXPECT_EQ(other, SeriesStore::kUnwanted);
  const std::vector<SeriesId> ids{other, f.a};
  ASSERT_TRUE(f.store.Append({At(kSecond), "s", "b", 1, 0}, ids, std::vector<double>{1, 2}).ok());
  ASSERT_TRUE(f.store
                  .Append({At(kSecond), "s", "b", 2, 0}, std::vector<SeriesId>{other},
                          std::vector<double>{1})
                  .ok());
  f.Tick(1);
  EXPECT_EQ(f.Get(), 2);
  EXPECT_EQ(f.store.counters().unwanted, 2u);
  EXPECT_EQ(f.store.counters().samples_sealed, 1u);
  EXPECT_EQ(f.store.series().count(), 1u);
}

TEST(SeriesStore, SpikeDoesNotAffectLaterWindows) {
  constexpr uint64_t kSeed = 42;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  std::normal_distribution<double> noise(0, 1);
  const std::vector<Demand> demands = {
      Window(WindowFunction::kAvg, 600), Window(WindowFunction::kStddev, 600),
      Window(WindowFunction::kSum, 600), Window(WindowFunction::kStdvar, 600)};
  Fixture with(demands), without(demands);
  std::vector<double> values;
  for (int64_t t = 1; t <= 3000; ++t) {
    const double value = 1e9 + noise(random);
    ASSERT_TRUE(with.Put(t * kSecond, t == 1000 ? 1e12 : value).ok());
    ASSERT_TRUE(without.Put(t * kSecond, value).ok());
    values.push_back(value);
    with.Tick(t);
    without.Tick(t);
    for (uint32_t d = 0; d < demands.size(); ++d) {
      if (t < 1000 || t >= 1600) {
        ASSERT_EQ(with.Get(d), without.Get(d)) << t;  // the values are bit-identical
      } else {
        ASSERT_GT(*with.Get(d), *without.Get(d)) << t;
      }
    }
  }
  long double mean = 0, squares = 0;
  for (size_t i = 2400; i < 3000; ++i) mean += values[i];
  mean /= 600;
  for (size_t i = 2400; i < 3000; ++i) squares += (values[i] - mean) * (values[i] - mean);
  EXPECT_NEAR(*with.Get(0), static_cast<double>(mean), 1e-6);
  EXPECT_NEAR(*with.Get(1), static_cast<double>(std::sqrt(squares / 600)), 1e-7);
}

TEST(SeriesStore, SumsAreCompensatedAndAveragesDoNotOverflow) {
  Fixture f({Window(WindowFunction::kSum, 60), Window(WindowFunction::kAvg, 60),
             Window(WindowFunction::kSum, 60, Duration::Seconds(10)),
             Window(WindowFunction::kAvg, 60, Duration::Seconds(10))});
  int64_t t = 0;
  for (const double value : {1.0, 1e100, 1.0, -1e100})
    ASSERT_TRUE(f.Put(++t * kSecond, value).ok());
  f.Tick(10);
  EXPECT_EQ(f.Get(0), 2);
  EXPECT_EQ(f.Get(2), 2);
  f.Tick(100);
  constexpr double kHalf = 9.988465674311579e+307;
  t = 100;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(f.Put(++t * kSecond, kHalf).ok());
  f.Tick(110);
  EXPECT_EQ(f.Get(0), kInf);
  EXPECT_EQ(f.Get(2), kInf);
  EXPECT_DOUBLE_EQ(*f.Get(1), kHalf);
  EXPECT_DOUBLE_EQ(*f.Get(3), kHalf);
  ASSERT_TRUE(f.Put(111 * kSecond, -kHalf).ok());
  ASSERT_TRUE(f.Put(112 * kSecond, 4).ok());
  f.Tick(120);
  EXPECT_DOUBLE_EQ(*f.Get(1), kHalf / 5 * 2);
  EXPECT_DOUBLE_EQ(*f.Get(3), kHalf / 5 * 2);
  ASSERT_TRUE(f.Put(121 * kSecond, -kInf).ok());
  f.Tick(130);
  EXPECT_EQ(*f.Get(1), -kInf);
  EXPECT_EQ(*f.Get(3), -kInf);
}

TEST(SeriesStore, RecordedSeriesAreVisibleAtTheirTick) {
  Fixture f({Instant(60), Window(WindowFunction::kSum, 10), Window(WindowFunction::kQuantile, 10)});
  f.Tick(1);
  EXPECT_EQ(f.Get(1), std::nullopt);
  f.store.Record(f.a, At(kSecond), 3);
  EXPECT_EQ(f.Get(0), 3);
  EXPECT_EQ(f.Get(1), 3);
  EXPECT_EQ(f.Get(2), 3);
  f.store.Record(f.a, At(kSecond), 4);  // the first value is kept
  EXPECT_EQ(f.Get(1), 3);
  EXPECT_EQ(f.store.counters().duplicates, 1u);
  f.Tick(2);
  f.store.Record(f.a, At(2 * kSecond), StaleMarker());
  EXPECT_EQ(f.Get(0), std::nullopt);
  EXPECT_EQ(f.Get(1), 3);
}

TEST(SeriesStore, ExpireForgetsSeriesOutsideAllWindows) {
  Fixture f({Instant(60), Window(WindowFunction::kSum, 120)});
  const SeriesId b = *f.store.Intern(M("b"));
  const RowPlanId plan = *f.store.Plan({b});
  ASSERT_TRUE(f.Put(kSecond, 1).ok());
  ASSERT_TRUE(f.store.Append({At(kSecond), "t", "boot", 1, 0}, plan, std::vector<double>{5}).ok());
  f.Tick(120);
  EXPECT_TRUE(f.store.Expire().empty());
  EXPECT_EQ(f.Get(1), 1);
  f.Tick(121);
  const uint64_t generation = f.store.results().Generation(0);
  EXPECT_THAT(f.store.Expire(), testing::ElementsAre(f.a));  // a plan pins b
  EXPECT_GT(f.store.results().Generation(0), generation);
  EXPECT_TRUE(f.store.results().Series(0).empty());
  EXPECT_TRUE(f.store.results().Read(1, kLeast).values.empty());
  EXPECT_EQ(f.store.series().LabelsOf(f.a), nullptr);
  EXPECT_EQ(f.store.series().count(), 1u);
  f.store.Record(f.a, At(121 * kSecond), 1);  // ignored because the ID is forgotten

  ASSERT_TRUE(
      f.store.Append({At(122 * kSecond), "t", "boot", 2, 0}, plan, std::vector<double>{6}).ok());
  f.Tick(122);
  ASSERT_EQ(f.store.results().Series(0).size(), 1u);
  EXPECT_EQ(*f.store.results().Series(0)[0], M("b"));
  EXPECT_EQ(f.Get(1), 6);
  f.store.ReleasePlan(plan);
  f.Tick(500);
  EXPECT_THAT(f.store.Expire(), testing::ElementsAre(b));
  EXPECT_EQ(f.store.series().count(), 0u);
}

TEST(SeriesStore, ResetDropsSamplesAndKeepsIds) {
  Fixture f(
      {Instant(60), Window(WindowFunction::kSum, 120), Window(WindowFunction::kQuantile, 120)});
  ASSERT_TRUE(f.Put(50 * kSecond, 1).ok());
  ASSERT_TRUE(f.Put(70 * kSecond, 1).ok());
  f.Tick(60);
  f.store.Reset();
  EXPECT_EQ(f.store.sealed(), Position::Earliest());
  EXPECT_EQ(f.store.OldestOpen(), std::nullopt);
  ASSERT_TRUE(f.Put(10 * kSecond, 4).ok());  // positions may decrease after a reset
  f.Tick(10);
  for (uint32_t d = 0; d < 3; ++d) EXPECT_EQ(f.Get(d), 4);
  EXPECT_EQ(*f.store.Intern(M("a")), f.a);
}

TEST(SeriesStore, AlignedDemandCountsFromOrigin) {
  Demand demand = Window(WindowFunction::kCount, 10, Duration::Seconds(10));
  demand.align_job = true;
  Fixture f({demand});
  f.store.SetOrigin(At(3 * kSecond));
  for (int64_t t = 4; t <= 23; ++t) ASSERT_TRUE(f.Put(t * kSecond, 1).ok());
  f.Tick(13);
  EXPECT_EQ(f.Get(), 10);
  f.Tick(23);
  EXPECT_EQ(f.Get(), 10);
  f.Tick(33);
  EXPECT_EQ(f.Get(), std::nullopt);
}

TEST(SeriesStore, ReplaceStartsNewWindowsEmpty) {
  Fixture f({Window(WindowFunction::kSum, 60), Instant(60)});
  ASSERT_TRUE(f.Put(10 * kSecond, 1).ok());
  f.Tick(10);
  f.store.Replace(
      SetOf({Window(WindowFunction::kAvg, 60), Window(WindowFunction::kSum, 60), Instant(30)}));
  EXPECT_EQ(f.Get(0), std::nullopt);
  EXPECT_EQ(f.Get(1), 1);
  EXPECT_EQ(f.Get(2), std::nullopt);
  EXPECT_EQ(f.store.results().FullFrom(0), At(70 * kSecond));
  EXPECT_EQ(f.store.results().FullFrom(1), Position::Earliest());
  ASSERT_TRUE(f.Put(11 * kSecond, 5).ok());
  f.Tick(11);
  EXPECT_EQ(f.Get(0), 5);
  EXPECT_EQ(f.Get(1), 6);
  EXPECT_EQ(f.Get(2), 5);
}

TEST(SeriesStore, RestoreRejectsOtherDemandsAndDamagedBytes) {
  Fixture f({Window(WindowFunction::kSum, 60), Window(WindowFunction::kQuantile, 20),
             Window(WindowFunction::kRate, 60)});
  for (int64_t t = 1; t <= 50; ++t)
    ASSERT_TRUE(f.Put(t * 700'000'000, static_cast<double>(t)).ok());
  f.Tick(30);
  BinaryWriter out;
  StoreSnapshot::Save(f.store, out);
  const auto set = std::make_shared<DemandSet>(f.store.results().demands());
  {
    BinaryReader in(out.data());
    EXPECT_EQ(
        StoreSnapshot::Restore(in, SetOf({Window(WindowFunction::kSum, 61)}), {}).status().code(),
        absl::StatusCode::kInvalidArgument);
  }
  for (size_t size = 0; size < out.data().size(); ++size) {
    BinaryReader in(std::string_view(out.data()).substr(0, size));
    ASSERT_FALSE(StoreSnapshot::Restore(in, set, {}).ok()) << size;
  }
  // If any byte changes, Restore returns an error or some state, but never crashes.
  for (size_t at = 0; at < out.data().size(); ++at) {
    for (const char flip : {char(1), char(0x80), char(0xff)}) {
      std::string bytes = out.data();
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      BinaryReader in(bytes);
      const auto store = StoreSnapshot::Restore(in, set, {});
      if (!store.ok()) continue;
      if ((*store)->sealed() != At(30 * kSecond)) continue;
      (*store)->BeginTick(At(30 * kSecond));
      for (uint32_t d = 0; d < 3; ++d) (*store)->results().Read(d, kLeast);
    }
  }
}

TEST(SeriesStore, MemoryPerSeriesStaysLow) {
  std::vector<Demand> demands = {Window(WindowFunction::kAvg, 60),
                                 Window(WindowFunction::kMax, 60),
                                 Window(WindowFunction::kStddev, 60),
                                 Window(WindowFunction::kQuantile, 60),
                                 Window(WindowFunction::kRate, 60),
                                 Window(WindowFunction::kAvg, 300),
                                 Instant(300)};
  SeriesStore store(SetOf(demands), {});
  constexpr size_t kSeries = 1000;
  std::vector<SeriesId> ids;
  for (size_t i = 0; i < kSeries; ++i) ids.push_back(*store.Intern(M(std::to_string(i))));
  const RowPlanId plan = *store.Plan(ids);
  std::vector<double> values(kSeries);
  for (int64_t t = 1; t <= 400; ++t) {
    for (size_t i = 0; i < kSeries; ++i)
      values[i] = static_cast<double>(t % 17 + static_cast<int64_t>(i));
    ASSERT_TRUE(store.Append({At(t * kSecond), "s", "b", 1, 0}, plan, values).ok());
    store.SealTo(At(t * kSecond));
    store.BeginTick(At(t * kSecond));
    for (uint32_t d = 0; d < demands.size(); ++d) store.results().Read(d, kLeast);
  }
  const size_t bytes = store.MemoryBytes() / kSeries;
  RecordProperty("bytes_per_series", static_cast<int>(bytes));
  std::printf("memory: %zu bytes per series with ten rules' windows\n", bytes);
  EXPECT_LT(bytes, 8192u);
}

// An [attempt] window contains all samples since the start of the attempt, even if series appear
// and disappear. A new attempt restarts the window, even within a pane. A restored store continues
// like the saved store.
TEST(SeriesStore, AttemptWindowRestartsWithEachAttempt) {
  Demand sum = Window(WindowFunction::kSum, 0);
  sum.kind = WindowKind::kAttempt;
  Demand rate = sum;
  rate.function = WindowFunction::kRate;
  Demand minute = Window(WindowFunction::kSum, 60);
  const std::vector<Demand> demands{sum, rate, minute};
  Fixture f(demands);
  for (int64_t t = 1; t <= 100; ++t) ASSERT_TRUE(f.Put(t * kSecond, 1).ok());
  f.Tick(100);
  EXPECT_EQ(f.Get(0), 100);
  EXPECT_EQ(f.Get(2), 60);
  for (int64_t t = 101; t <= 105; ++t) {
    ASSERT_TRUE(f.Put(t * kSecond, static_cast<double>(t - 100)).ok());
    ASSERT_TRUE(f.Put(t * kSecond + kSecond / 2, static_cast<double>(t - 100)).ok());
  }
  f.store.BeginAttempt(At(103 * kSecond + 1));
  f.Tick(105);
  EXPECT_EQ(f.Get(0), 3 + 4 + 4 + 5);
  // The increase is 2 in 1.5 s. It is extrapolated by up to half a second at each end, but at the
  // left end only to the start of the attempt.
  ASSERT_TRUE(f.Get(1).has_value());
  EXPECT_NEAR(*f.Get(1), 2.0 / 1.5 * (1.5 + 0.5 + 0.0) / 2, 0.4);

  const auto restored = Restored(f.store);
  for (SeriesStore* store : {&f.store, restored.get()}) {
    ASSERT_TRUE(store
                    ->Append({At(106 * kSecond), "s", "boot", 999, 0}, std::vector<SeriesId>{f.a},
                             std::vector<double>{100})
                    .ok());
    store->SealTo(At(1000 * kSecond));
    store->BeginTick(At(1000 * kSecond));
    EXPECT_EQ(store->results().Read(0).values[0], 16 + 5 + 100);
    EXPECT_TRUE(store->Expire().empty()) << "an attempt remembers those that have vanished";
  }
}

// An [N samples] window contains the last N samples regardless of age, as long as the series
// exists.
TEST(SeriesStore, SamplesWindowContainsLastSamples) {
  Demand three = Window(WindowFunction::kSum, 0);
  three.kind = WindowKind::kSamples;
  three.range = 3;
  three.lookback = 10 * kSecond;
  Demand before = three;
  before.offset = 5 * kSecond;
  Fixture f({three, before});
  for (const int64_t t : {1, 2, 4, 8, 16})
    ASSERT_TRUE(f.Put(t * kSecond, static_cast<double>(t)).ok());
  f.Tick(2);
  EXPECT_EQ(f.Get(0), 3) << "fewer at the start";
  f.Tick(16);
  EXPECT_EQ(f.Get(0), 4 + 8 + 16);
  EXPECT_EQ(f.Get(1), 2 + 4 + 8);
  f.Tick(25);
  EXPECT_EQ(f.Get(0), 28);
  f.Tick(26);
  EXPECT_FALSE(f.Get(0).has_value()) << "out of look-back";
  ASSERT_TRUE(f.Put(30 * kSecond, 1).ok());
  f.Tick(30);
  EXPECT_EQ(f.Get(0), 1) << "it had gone";
  ASSERT_TRUE(f.Put(31 * kSecond, StaleMarker()).ok());
  f.Tick(31);
  EXPECT_FALSE(f.Get(0).has_value()) << "stale";
}

// A few vanished series are kept for a while, because removing their columns moves all other
// columns.
TEST(SeriesStore, ExpireWaitsForEnoughSeries) {
  for (const uint32_t limit : {1000U, 100U}) {
    SeriesStore store(SetOf({Window(WindowFunction::kSum, 10)}), Limits{.max_series = limit});
    std::vector<SeriesId> ids;
    for (int i = 0; i < 100; ++i) ids.push_back(*store.Intern(M(std::to_string(i))));
    const std::vector<double> ones(100, 1.0);
    const std::span<const SeriesId> all(ids);
    ASSERT_TRUE(store.Append({At(1 * kSecond), "s", "b", 1, 0}, ids, ones).ok());
    ASSERT_TRUE(
        store.Append({At(20 * kSecond), "s", "b", 2, 0}, all.first(95), std::span(ones).first(95))
            .ok());
    store.SealTo(At(20 * kSecond));
    // Five of 100 series are too few to remove, unless their slots are needed.
    EXPECT_EQ(store.Expire().size(), limit == 100 ? 5U : 0U);
    if (limit == 100) continue;
    ASSERT_TRUE(
        store.Append({At(40 * kSecond), "s", "b", 3, 0}, all.first(90), std::span(ones).first(90))
            .ok());
    store.SealTo(At(40 * kSecond));
    EXPECT_EQ(store.Expire().size(), 10U);
    EXPECT_EQ(store.series().count(), 90U);
  }
}

}  // namespace
}  // namespace pitwall::window
