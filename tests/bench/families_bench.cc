// Cost of each window function: the tables in docs/performance.md.
//
//   families_bench [SERIES] [WINDOW IN SECONDS …]      (10000, 60 600)
//
// Measures one demand over 8 sources with only SeriesStore: one sample per series and second, 2%
// missing (the noise of bench_data.h), read every second.
//   in       Append + SealTo, per sample
//   read     BeginTick + Read, per rule and series (including the update of sorted windows)
//   all      sum of both
//   instant  base cost of every sample (one row of the table)
// The values are CPU times after the window has been filled: the median of three periods, each as
// long as the window, so that periodic work is included.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "services/base/text/strings.h"
#include "services/window/store/series_store.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/cpu_time.h"

namespace {

using namespace pitwall;
using bench::BenchData;
using bench::CpuNs;
using bench::kSources;

constexpr int64_t kSecond = 1'000'000'000;

struct Case {
  const char* family;
  const char* name;
  WindowKind kind;
  WindowFunction function;
  std::vector<double> arguments = {};
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"instant", "m", WindowKind::kInstant, WindowFunction::kLast},
      {"sums", "sum_over_time", WindowKind::kTime, WindowFunction::kSum},
      {"sums", "avg_over_time", WindowKind::kTime, WindowFunction::kAvg},
      {"sums", "count_over_time", WindowKind::kTime, WindowFunction::kCount},
      {"moments", "stddev_over_time", WindowKind::kTime, WindowFunction::kStddev},
      {"extremes", "max_over_time", WindowKind::kTime, WindowFunction::kMax},
      {"extremes with positions", "ts_of_max_over_time", WindowKind::kTime,
       WindowFunction::kTsOfMax},
      {"ends", "last_over_time", WindowKind::kTime, WindowFunction::kLastOverTime},
      {"counter", "rate", WindowKind::kTime, WindowFunction::kRate},
      {"counter", "delta", WindowKind::kTime, WindowFunction::kDelta},
      {"counter", "irate", WindowKind::kTime, WindowFunction::kIrate},
      {"counter", "changes", WindowKind::kTime, WindowFunction::kChanges},
      {"regression", "deriv", WindowKind::kTime, WindowFunction::kDeriv},
      {"ordered", "quantile_over_time(0.95)", WindowKind::kTime, WindowFunction::kQuantile, {0.95}},
      {"ordered", "mad_over_time", WindowKind::kTime, WindowFunction::kMad},
      {"sketch",
       "sketch_quantile_over_time(0.95)",
       WindowKind::kTime,
       WindowFunction::kSketchQuantile,
       {0.95}},
      {"states", "share_over_time", WindowKind::kTime, WindowFunction::kShare},
      {"every sample",
       "double_exponential_smoothing",
       WindowKind::kTime,
       WindowFunction::kSmoothing,
       {0.5, 0.5}},
      {"every sample", "outliers_over_time", WindowKind::kTime, WindowFunction::kOutliers, {3}},
      {"every sample", "longest_run_over_time", WindowKind::kTime, WindowFunction::kLongestRun},
      {"every sample", "robust_deriv", WindowKind::kTime, WindowFunction::kRobustDeriv},
      {"every sample", "kendall_tau_over_time", WindowKind::kTime, WindowFunction::kKendallTau},
      {"every sample",
       "histogram_over_time, 10 bounds",
       WindowKind::kTime,
       WindowFunction::kHistogram,
       {10, 20, 30, 40, 50, 60, 70, 80, 90, 100}},
      {"every sample",
       "outlier_period_over_time",
       WindowKind::kTime,
       WindowFunction::kOutlierPeriod,
       {3}},
      {"every sample",
       "event_period_over_time",
       WindowKind::kTime,
       WindowFunction::kEventPeriod,
       {1}},
      {"every sample",
       "block_quantile_over_time, 8 blocks",
       WindowKind::kTime,
       WindowFunction::kBlockQuantile,
       {8, 0.5, 1}},
      {"every sample",
       "block_quantile_over_time, 8 blocks of 5",
       WindowKind::kTime,
       WindowFunction::kBlockQuantile,
       {8, 0.5, 1, 5}},
      {"[N samples]", "avg_over_time", WindowKind::kSamples, WindowFunction::kAvg},
      {"[N samples]", "max_over_time", WindowKind::kSamples, WindowFunction::kMax},
      {"[attempt]", "avg_over_time", WindowKind::kAttempt, WindowFunction::kAvg},
  };
  return cases;
}

Demand DemandOf(const Case& c, int window) {
  Demand demand;
  demand.kind = c.kind;
  demand.function = c.function;
  demand.interval = kSecond;
  if (c.kind == WindowKind::kTime) demand.range = window * kSecond;
  if (c.kind == WindowKind::kSamples) demand.range = window;
  if (c.kind == WindowKind::kInstant || c.kind == WindowKind::kSamples ||
      c.function == WindowFunction::kShare)
    demand.lookback = 300 * kSecond;
  for (const double argument : c.arguments) {
    if (!demand.arguments.empty()) demand.arguments += ",";
    demand.arguments += Cat(argument);
  }
  return demand;
}

struct Cost {
  double in = 0, read = 0;
  double all() const { return in + read; }
};

class Job {
 public:
  Job(const Case& c, int series, int window)
      : arguments_(c.arguments), series_(series), data_(bench::DataKind::kNoise, series) {
    auto set = std::make_shared<DemandSet>();
    Selector selector;
    selector.matchers.push_back(*Matcher::Make("__name__", MatchOp::kEqual, "m"));
    set->selectors.push_back(selector);
    set->demands.push_back(DemandOf(c, window));
    store_ = std::make_unique<window::SeriesStore>(set, window::Limits());
    for (int s = 0; s < kSources; ++s) {
      std::vector<window::SeriesId> ids;
      for (int i = s; i < series; i += kSources)
        ids.push_back(*store_->Intern(data_.LabelsOf(static_cast<size_t>(i))));
      plans_.push_back(*store_->Plan(std::move(ids)));
      names_.push_back(Cat("source", s));
    }
    // Generates a few seconds of samples to send repeatedly.
    for (auto& second : rows_) {
      const std::vector<double>& all = data_.Second(0);
      for (size_t s = 0; s < kSources; ++s) second[s].clear();
      for (size_t i = 0; i < all.size(); ++i) {
        const auto k = static_cast<size_t>(&second - rows_.data());
        second[i % kSources].push_back(all[(i + k * 977) % all.size()]);
      }
    }
  }

  // Fills the window without reading it.
  void Fill(int n) {
    for (int k = 0; k < n; ++k) {
      Tell();
      ++t_;
    }
  }
  // Runs for n seconds of samples, or for as many as fit into one second of CPU time.
  Cost Seconds(int n) {
    Cost cost;
    int k = 0;
    for (; k < n && cost.all() < 1e9; ++k, ++t_) {
      const double begin = CpuNs();
      const int64_t tick = Tell();
      const double sealed = CpuNs();
      store_->BeginTick(Position::FromNs(tick));
      const Column column = store_->results().Read(0, arguments_);
      const double read = CpuNs();
      present_ += column.present[0];
      cost.in += sealed - begin;
      cost.read += read - sealed;
    }
    const double results = static_cast<double>(series_) * k;
    return {cost.in / results, cost.read / results};
  }
  // Uses the results, so that the compiler does not elide the reads.
  bool present() const { return present_ > 0; }
  double BytesPerSeries() const { return static_cast<double>(store_->MemoryBytes()) / series_; }

 private:
  int64_t Tell() {
    for (size_t s = 0; s < kSources; ++s) {
      const window::RowKey key{Position::FromNs(data_.TimeOf(static_cast<int>(s), t_)), names_[s],
                               "boot", static_cast<uint64_t>(t_) + 1, 0};
      if (!store_->Append(key, plans_[s], rows_[static_cast<size_t>(t_) % rows_.size()][s]).ok())
        std::abort();
    }
    const int64_t tick = bench::kBase + t_ * kSecond;
    store_->SealTo(Position::FromNs(tick));
    return tick;
  }

  std::vector<double> arguments_;
  int series_;
  BenchData data_;
  std::unique_ptr<window::SeriesStore> store_;
  std::vector<window::RowPlanId> plans_;
  std::vector<std::string> names_;
  std::array<std::array<std::vector<double>, kSources>, 61> rows_;
  int t_ = 0;
  int present_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int series = argc > 1 ? std::atoi(argv[1]) : 10000;
  std::vector<int> windows;
  for (int i = 2; i < argc; ++i) windows.push_back(std::atoi(argv[i]));
  if (windows.empty()) windows = {60, 600};
  if (series < kSources || *std::min_element(windows.begin(), windows.end()) < 1) {
    std::fprintf(stderr, "usage: families_bench [SERIES >= %d] [WINDOW IN SECONDS …]\n", kSources);
    return 2;
  }
  std::printf("| family | function |");
  for (const int w : windows)
    std::printf(" %d: in | %d: read | %d: all | %d: B/series |", w, w, w, w);
  std::printf("\n|---|---|");
  for (size_t i = 0; i < windows.size(); ++i) std::printf("--:|--:|--:|--:|");
  std::printf("\n");
  for (const Case& c : Cases()) {
    std::printf("| %s | `%s` |", c.family, c.name);
    for (const int w : windows) {
      Job job(c, series, w);
      job.Fill(w);
      job.Seconds(20);
      std::vector<Cost> costs;
      for (int k = 0; k < 3; ++k) costs.push_back(job.Seconds(std::max(60, w)));
      std::sort(costs.begin(), costs.end(),
                [](const Cost& a, const Cost& b) { return a.all() < b.all(); });
      const Cost& median = costs[costs.size() / 2];
      std::printf(" %.1f | %.1f | %.1f | %.0f |", median.in, median.read, median.all(),
                  job.BytesPerSeries());
      if (!job.present()) std::printf(" no values read!");
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  return 0;
}
