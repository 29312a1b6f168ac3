// Test fixture: a store with a few demands over series of the metric m, filled by hand.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/window/store/series_store.h"
#include "services/window/store/store_snapshot.h"

namespace pitwall::window {

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr Position At(int64_t ns) { return Position::FromNs(ns); }
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline Demand Window(WindowFunction function, int64_t range_s,
                     Duration interval = Duration::Seconds(1)) {
  Demand demand;
  demand.kind = WindowKind::kTime;
  demand.function = function;
  demand.range = range_s * kSecond;
  demand.interval = interval.ns();
  return demand;
}
// φ of all quantiles in these tests.
inline constexpr double kLeast[] = {0};

inline Demand Instant(int64_t lookback_s) {
  Demand demand;
  demand.interval = kSecond;
  demand.lookback = lookback_s * kSecond;
  return demand;
}
inline std::shared_ptr<DemandSet> SetOf(std::vector<Demand> demands) {
  auto set = std::make_shared<DemandSet>();
  Selector selector;
  selector.matchers.push_back(*Matcher::Make("__name__", MatchOp::kEqual, "m"));
  set->selectors.push_back(selector);
  set->demands = std::move(demands);
  return set;
}
inline Labels M(std::string_view id) { return Labels({{"__name__", "m"}, {"id", id}}); }

inline std::string Saved(SeriesStore& store) {
  BinaryWriter out;
  StoreSnapshot::Save(store, out);
  return std::string(out.data());
}
// Returns a store with the same demands that was restored from a snapshot of `store`.
inline std::unique_ptr<SeriesStore> Restored(SeriesStore& store, const Limits& limits = {}) {
  const std::string saved = Saved(store);
  BinaryReader in(saved);
  auto restored =
      StoreSnapshot::Restore(in, std::make_shared<DemandSet>(store.results().demands()), limits);
  EXPECT_TRUE(restored.ok()) << restored.status();
  EXPECT_TRUE(in.Finish("state").ok());
  return *std::move(restored);
}

struct Fixture {
  explicit Fixture(std::vector<Demand> demands, Limits limits = {})
      : store(SetOf(std::move(demands)), limits), a(*store.Intern(M("a"))) {}

  Status Put(int64_t at, double value, std::string_view source = "s") {
    return store.Append({At(at), source, "boot", ++sequence, 0}, std::vector<SeriesId>{a},
                        std::vector<double>{value});
  }
  void Tick(int64_t at_s) {
    store.SealTo(At(at_s * kSecond));
    store.BeginTick(At(at_s * kSecond));
  }
  // Returns the value of series a, or nullopt if it has no value.
  std::optional<double> Get(uint32_t demand = 0) {
    const Column column = store.results().Read(demand, kLeast);
    if (column.values.empty() || !column.present[0]) return std::nullopt;
    return column.values[0];
  }
  SeriesStore store;
  SeriesId a;
  uint64_t sequence = 0;
};

}  // namespace pitwall::window
