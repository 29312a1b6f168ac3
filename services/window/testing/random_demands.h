// Random demands over the series of random jobs (window_oracle_test.cc). For tests only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "services/model/windows/demand.h"
#include "services/window/testing/series_store.h"

namespace pitwall::window {

inline constexpr int64_t kMilli = 1'000'000;
using Random = std::mt19937_64;

inline int64_t Pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}
inline bool Chance(Random& random, double p) {
  return std::uniform_real_distribution<double>(0, 1)(random) < p;
}

inline Selector MakeSelector(
    std::initializer_list<std::tuple<const char*, MatchOp, const char*>> matchers) {
  Selector selector;
  for (const auto& [label, op, value] : matchers)
    selector.matchers.push_back(*Matcher::Make(label, op, value));
  return selector;
}

// Returns the selectors used in the scenarios. Selectors 0 to 2 match every series.
inline std::vector<Selector> Selectors() {
  return {MakeSelector({{"__name__", MatchOp::kEqual, "gauge"}}),
          MakeSelector({{"__name__", MatchOp::kEqual, "counter"}}),
          MakeSelector({{"__name__", MatchOp::kEqual, "recorded"}}),
          MakeSelector(
              {{"__name__", MatchOp::kRegex, "gauge|counter"}, {"gpu", MatchOp::kNotEqual, "1"}})};
}

inline constexpr WindowFunction kRangeFunctions[] = {
    WindowFunction::kSum,           WindowFunction::kAvg,           WindowFunction::kCount,
    WindowFunction::kPresent,       WindowFunction::kStddev,        WindowFunction::kStdvar,
    WindowFunction::kMin,           WindowFunction::kMax,           WindowFunction::kLastOverTime,
    WindowFunction::kFirstOverTime, WindowFunction::kRate,          WindowFunction::kIncrease,
    WindowFunction::kDelta,         WindowFunction::kIrate,         WindowFunction::kIdelta,
    WindowFunction::kResets,        WindowFunction::kChanges,       WindowFunction::kQuantile,
    WindowFunction::kTsOfFirst,     WindowFunction::kTsOfLast,      WindowFunction::kTsOfMin,
    WindowFunction::kTsOfMax,       WindowFunction::kDeriv,         WindowFunction::kIntercept,
    WindowFunction::kMad,           WindowFunction::kSmoothing,     WindowFunction::kShare,
    WindowFunction::kShare,         WindowFunction::kOutlierPeriod, WindowFunction::kSketchQuantile,
    WindowFunction::kOutliers,      WindowFunction::kRobustDeriv,   WindowFunction::kKendallTau,
    WindowFunction::kHistogram,     WindowFunction::kBlockQuantile, WindowFunction::kBlockQuantile,
    WindowFunction::kEventPeriod,   WindowFunction::kLongestRun};

inline Demand RandomDemand(Random& random) {
  static const int64_t kIntervals[] = {kSecond, kSecond, 2 * kSecond, 5 * kSecond};
  static const int64_t kRanges[] = {kSecond,      3 * kSecond,   1500 * kMilli, 10 * kSecond,
                                    13 * kSecond, 14 * kSecond,  37 * kSecond,  60 * kSecond,
                                    90 * kSecond, 150 * kSecond, 250 * kSecond};
  static const int64_t kOffsets[] = {0, 0, 0, kSecond, 2500 * kMilli, 7 * kSecond, 30 * kSecond};
  Demand demand;
  demand.selector = static_cast<uint32_t>(Pick(random, 0, 3));
  demand.interval = kIntervals[Pick(random, 0, 3)];
  demand.offset = kOffsets[Pick(random, 0, 6)];
  demand.align_job = Chance(random, 0.2);
  if (Chance(random, 0.15)) {
    demand.kind = WindowKind::kInstant;
    demand.function = Chance(random, 0.5) ? WindowFunction::kLast : WindowFunction::kTimestamp;
    demand.lookback = Chance(random, 0.5) ? 5 * kSecond : 300 * kSecond;
    return demand;
  }
  demand.kind = WindowKind::kTime;
  demand.function = kRangeFunctions[Pick(random, 0, std::size(kRangeFunctions) - 1)];
  demand.range = kRanges[Pick(random, 0, std::size(kRanges) - 1)];
  if (demand.function == WindowFunction::kQuantile ||
      demand.function == WindowFunction::kSketchQuantile) {
    static const char* const kPhis[] = {"0", "0.25", "0.5", "0.95", "1", "-1", "2"};
    demand.arguments = kPhis[Pick(random, 0, 6)];
  }
  // The window is short because the oracle compares all pairs.
  if (demand.function == WindowFunction::kRobustDeriv ||
      demand.function == WindowFunction::kKendallTau) {
    demand.range = std::min(demand.range, 13 * kSecond);
  }
  if (demand.function == WindowFunction::kHistogram) {
    static const char* const kBounds[] = {"0.5", "-2,-1,0,1,2", "-1,0.25,1e9,1000000001"};
    demand.arguments = kBounds[Pick(random, 0, 2)];
  }
  if (demand.function == WindowFunction::kBlockQuantile) {
    static const char* const kBlocks[] = {"2,0.5,1",   "3,0.5,2,1", "3,0.25,3,2", "4,0.5,1,5",
                                          "1,0.9,1,7", "5,0.5,4,3", "2,1,2",      "8,0,1,4"};
    demand.arguments = kBlocks[Pick(random, 0, 7)];
  }
  if (demand.function == WindowFunction::kSmoothing) demand.arguments = "0.3,0.6";
  if (demand.function == WindowFunction::kOutlierPeriod ||
      demand.function == WindowFunction::kOutliers ||
      demand.function == WindowFunction::kEventPeriod) {
    static const char* const kLimits[] = {"0.7", "1", "3"};
    demand.arguments = kLimits[Pick(random, 0, 2)];
  }
  if (demand.function == WindowFunction::kShare) {
    demand.lookback = Chance(random, 0.5) ? 1500 * kMilli : 20 * kSecond;
    if (Chance(random, 0.2)) {
      demand.kind = WindowKind::kAttempt;
      demand.range = 0;
    }
    return demand;
  }
  if (Chance(random, 0.15)) {
    demand.kind = WindowKind::kSamples;
    demand.range = static_cast<int64_t>(Pick(random, 1, 40));
    demand.lookback = Chance(random, 0.5) ? 5 * kSecond : 300 * kSecond;
  } else if (Chance(random, 0.12)) {
    demand.kind = WindowKind::kFirst;
    demand.range = static_cast<int64_t>(Pick(random, 1, 40));
    demand.skip = static_cast<int64_t>(Chance(random, 0.5) ? 0 : Pick(random, 1, 30));
  }
  return demand;
}

inline std::shared_ptr<DemandSet> RandomDemands(Random& random, size_t count) {
  auto set = std::make_shared<DemandSet>();
  set->selectors = Selectors();
  for (uint32_t s = 0; s < 3; ++s) {  // at least one demand thus wants each series
    Demand demand;
    demand.selector = s;
    demand.interval = kSecond;
    demand.lookback = 15 * kSecond;
    set->demands.push_back(demand);
  }
  for (size_t i = 0; i < count; ++i) set->demands.push_back(RandomDemand(random));
  return set;
}

}  // namespace pitwall::window
