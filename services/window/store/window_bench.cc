// Cost of one sample, from Append to the columns that rules read, on one core.
//
// In every second, each series has one sample, reported by one of 8 sources. Then the tick is
// sealed and every demand is read once. items/s are samples; `reads` are series results per second;
// `B/series` is the memory per series once the windows are full.
//   dense: all sources report at the same time, and no samples are missing.
//   mixed: each source has its own phase, and 2% of the samples are missing.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "services/model/value.h"
#include "services/window/store/series_store.h"

namespace pitwall::window {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kSources = 8;
constexpr double kPhi[] = {0.95};  // phi; only quantiles use it

Demand Over(WindowFunction function, int64_t seconds) {
  Demand demand;
  demand.kind = WindowKind::kTime;
  demand.function = function;
  demand.range = seconds * kSecond;
  demand.interval = kSecond;
  if (function == WindowFunction::kQuantile) demand.arguments = "0.95";
  return demand;
}
Demand Instant() {
  Demand demand;
  demand.interval = kSecond;
  demand.lookback = 300 * kSecond;
  return demand;
}

std::vector<Demand> TenRules() {
  // Demands of the ten rules in tests/bench. The rules AvgBy, Straggler, and AvgByAvg need no
  // additional columns.
  return {Over(WindowFunction::kAvg, 60),
          Over(WindowFunction::kMax, 60),
          Over(WindowFunction::kStddev, 60),
          Over(WindowFunction::kQuantile, 60),
          Over(WindowFunction::kRate, 60),
          Over(WindowFunction::kAvg, 300),
          Instant()};
}

class Job {
 public:
  Job(size_t series, std::vector<Demand> demands, bool mixed) : mixed_(mixed), random_(7) {
    auto set = std::make_shared<DemandSet>();
    Selector selector;
    selector.matchers.push_back(*Matcher::Make("__name__", MatchOp::kEqual, "m"));
    set->selectors.push_back(selector);
    set->demands = std::move(demands);
    demands_ = set->demands.size();
    store_ = std::make_unique<SeriesStore>(set, Limits());
    for (size_t s = 0; s < kSources; ++s) {
      std::vector<SeriesId> ids;
      for (size_t i = s; i < series; i += kSources) {
        ids.push_back(*store_->Intern(Labels(
            {{"__name__", "m"}, {"node", std::to_string(i / 8)}, {"gpu", std::to_string(i % 8)}})));
      }
      values_.emplace_back();
      for (int k = 0; k < 16; ++k) {
        std::vector<double> row(ids.size());
        for (double& value : row) {
          const bool missing = mixed_ && random_() % 50 == 0;
          value = missing ? MissingValue() : static_cast<double>(random_() % 10007) * 0.01;
        }
        values_.back().push_back(std::move(row));
      }
      plans_.push_back(*store_->Plan(std::move(ids)));
      names_.push_back("source" + std::to_string(s));
    }
    tick_ = Position() + Duration::Seconds(1'700'000'000);
  }

  void Second() {
    for (size_t s = 0; s < kSources; ++s) {
      const Duration phase = Duration::Millis(mixed_ ? static_cast<int64_t>(s + 1) * 100 : 1000);
      const RowKey key{tick_ + phase, names_[s], "boot", ++sequence_, 0};
      benchmark::DoNotOptimize(store_->Append(key, plans_[s], values_[s][sequence_ % 16]).ok());
    }
    tick_ += Duration::Seconds(1);
    store_->SealTo(tick_);
    store_->BeginTick(tick_);
    for (uint32_t d = 0; d < demands_; ++d)
      benchmark::DoNotOptimize(store_->results().Read(d, kPhi).values.data());
  }
  size_t MemoryBytes() const { return store_->MemoryBytes(); }

 private:
  bool mixed_;
  std::mt19937_64 random_;
  size_t demands_ = 0;
  std::unique_ptr<SeriesStore> store_;
  std::vector<RowPlanId> plans_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::vector<double>>> values_;
  Position tick_;
  uint64_t sequence_ = 0;
};

void Run(benchmark::State& state, std::vector<Demand> demands, bool mixed, int warm_up) {
  const auto series = static_cast<size_t>(state.range(0));
  const size_t columns = demands.size();
  Job job(series, std::move(demands), mixed);
  for (int i = 0; i < warm_up; ++i) job.Second();
  for (auto _ : state) job.Second();
  const auto seconds = static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(seconds) * static_cast<int64_t>(series));
  state.counters["reads"] = benchmark::Counter(seconds * static_cast<double>(series * columns),
                                               benchmark::Counter::kIsRate);
  state.counters["B/series"] = static_cast<double>(job.MemoryBytes()) / static_cast<double>(series);
}

#define WINDOW_BENCH(name, demands)                                               \
  void name##_dense(benchmark::State& state) { Run(state, demands, false, 320); } \
  void name##_mixed(benchmark::State& state) { Run(state, demands, true, 320); }  \
  BENCHMARK(name##_dense)->Arg(1000)->Arg(10000);                                 \
  BENCHMARK(name##_mixed)->Arg(1000)->Arg(10000)

WINDOW_BENCH(instant, {Instant()});
WINDOW_BENCH(avg60, {Over(WindowFunction::kAvg, 60)});
WINDOW_BENCH(avg300, {Over(WindowFunction::kAvg, 300)});
WINDOW_BENCH(max60, {Over(WindowFunction::kMax, 60)});
WINDOW_BENCH(stddev60, {Over(WindowFunction::kStddev, 60)});
WINDOW_BENCH(rate60, {Over(WindowFunction::kRate, 60)});
WINDOW_BENCH(quantile60, {Over(WindowFunction::kQuantile, 60)});
WINDOW_BENCH(ten_rules, TenRules());

}  // namespace
}  // namespace pitwall::window

BENCHMARK_MAIN();
