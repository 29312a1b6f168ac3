// Cost of multi-day windows at a fine interval: the table in docs/performance.md.
//
//   long_window_bench [SERIES [PANES]]      (100, 43200: 30 days of one-minute panes)
//
// Uses only SeriesStore, with one sample per series and minute, which is read each minute.
//   tick   CPU time per series and minute (append, seal, read) after the window has been filled
//   naive  time of a plain loop over the window's samples (compensated sum). The samples need
//          8 bytes each, and twice as many with positions.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "services/window/store/series_store.h"
#include "services/window/store/store_snapshot.h"
#include "tests/bench/cpu_time.h"

namespace {

using namespace pitwall;
using bench::CpuNs;

constexpr int64_t kMinute = 60'000'000'000;

struct Case {
  const char* name;
  WindowFunction function;
  std::vector<double> arguments = {};
};

// Slowly changing ratio with four decimals, noise, and an integer counter.
enum class Data { kRatio, kNoise, kCounter };
constexpr const char* kDataNames[] = {"ratio of 4 decimals", "noise", "counter"};

class Values {
 public:
  Values(Data data, size_t series) : data_(data), row_(series, 0.9) {}
  const std::vector<double>& Next() {
    for (double& value : row_) {
      const double r = static_cast<double>(random_() >> 11) * 0x1p-53;
      if (data_ == Data::kNoise) value = r;
      if (data_ == Data::kCounter) value = std::floor(value) + std::floor(r * 50);
      if (data_ == Data::kRatio && r < 0.3)
        value = std::clamp(std::round((value + (r - 0.15) * 0.02) * 1e4) / 1e4, 0.0, 1.0);
    }
    return row_;
  }

 private:
  Data data_;
  std::mt19937_64 random_{17};
  std::vector<double> row_;
};

struct Result {
  double tick = 0;
  double bytes = 0;
  double snapshot = 0;
};

Result Run(const Case& c, Data data, size_t series, int64_t panes) {
  Demand demand;
  demand.kind = WindowKind::kTime;
  demand.function = c.function;
  demand.range = panes * kMinute;
  demand.interval = kMinute;
  auto set = std::make_shared<DemandSet>();
  Selector selector;
  selector.matchers.push_back(*Matcher::Make("__name__", MatchOp::kEqual, "m"));
  set->selectors.push_back(selector);
  set->demands.push_back(demand);
  window::SeriesStore store(set, window::Limits());
  std::vector<window::SeriesId> ids;
  for (size_t i = 0; i < series; ++i)
    ids.push_back(*store.Intern(Labels({{"__name__", "m"}, {"i", std::to_string(i)}})));
  const auto plan = *store.Plan(ids);
  Values values(data, series);
  const int64_t measured = std::max<int64_t>(2000, panes / 4);
  double begin = 0;
  int present = 0;
  for (int64_t minute = 1; minute <= panes + measured; ++minute) {
    if (minute == panes + 1) begin = CpuNs();
    const std::vector<double>& row = values.Next();
    const Position tick = Position::FromNs(minute * kMinute);
    if (!store.Append({tick.Previous(), "s", "boot", 1, 0}, plan, row).ok()) std::abort();
    store.SealTo(tick);
    store.BeginTick(tick);
    if (minute > panes) present += store.results().Read(0, c.arguments).present[0];
  }
  const double all = static_cast<double>(series) * static_cast<double>(measured);
  Result result;
  result.tick = (CpuNs() - begin) / all;
  // Excludes the cost of generating the values.
  begin = CpuNs();
  for (int64_t k = 0; k < measured; ++k) values.Next();
  result.tick -= (CpuNs() - begin) / all;
  result.bytes = static_cast<double>(store.MemoryBytes()) / static_cast<double>(series);
  BinaryWriter out;
  window::StoreSnapshot::Save(store, out);
  result.snapshot = static_cast<double>(out.data().size()) / static_cast<double>(series);
  if (present == 0) std::printf("no values read! ");
  return result;
}

// Returns the time in ns to sum a window of this many samples from scratch.
double Naive(int64_t panes) {
  std::vector<double> samples(static_cast<size_t>(panes));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(i % 1000) / 7;
  volatile double sink = 0;
  const double begin = CpuNs();
  int rounds = 0;
  for (; rounds < 20 || CpuNs() - begin < 5e8; ++rounds) {
    double sum = 0, compensation = 0;
    for (const double x : samples) {
      const double t = sum + x;
      compensation += std::fabs(sum) >= std::fabs(x) ? (sum - t) + x : (x - t) + sum;
      sum = t;
    }
    sink = sum + compensation;
  }
  (void)sink;
  return (CpuNs() - begin) / rounds;
}

}  // namespace

int main(int argc, char** argv) {
  const int series = argc > 1 ? std::atoi(argv[1]) : 100;
  const int64_t panes = argc > 2 ? std::atoi(argv[2]) : 43'200;
  if (series < 1 || panes < 1 || panes > window::SeriesStore::kMaxPanes) {
    std::fprintf(stderr, "usage: long_window_bench [SERIES [PANES]]\n");
    return 2;
  }
  const double naive = Naive(panes);
  std::printf("naive: %.0f ns and %.0f bytes per series and tick\n\n", naive,
              static_cast<double>(panes) * 8);
  std::printf("| function | data | tick ns | naive / tick | bytes per series | in a snapshot |\n");
  std::printf("|---|---|--:|--:|--:|--:|\n");
  const std::vector<Case> cases = {
      {"avg_over_time", WindowFunction::kAvg},
      {"max_over_time", WindowFunction::kMax},
      {"increase", WindowFunction::kIncrease},
      {"sketch_quantile_over_time(0.99)", WindowFunction::kSketchQuantile, {0.99}}};
  for (const Case& c : cases) {
    for (const Data data : {Data::kRatio, Data::kNoise, Data::kCounter}) {
      if ((c.function == WindowFunction::kIncrease) != (data == Data::kCounter)) continue;
      const Result r = Run(c, data, static_cast<size_t>(series), panes);
      std::printf("| `%s` | %s | %.1f | %.0f | %.0f | %.0f |\n", c.name,
                  kDataNames[static_cast<int>(data)], r.tick, naive / r.tick, r.bytes, r.snapshot);
      std::fflush(stdout);
    }
  }
  return 0;
}
