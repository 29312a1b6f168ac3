// Compares stores with the reference implementation (oracle.h) at every tick over random job
// lifetimes, and compares several stores with each other bit by bit. One store receives all rows in
// order. Another receives them shuffled, seals at uneven intervals, and occasionally expires
// series. The remaining stores are also saved and restored repeatedly.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "services/base/text/strings.h"
#include "services/window/store/series_store.h"
#include "services/window/store/store_snapshot.h"
#include "services/window/testing/oracle.h"
#include "services/window/testing/random_demands.h"

namespace pitwall::window {
namespace {

constexpr int64_t kNever = Position::Earliest().ns();

struct Row {
  RowKey key;
  std::vector<Labels> series;
  std::vector<double> values;
};

// A store under test and the options for driving it.
struct Subject {
  std::unique_ptr<SeriesStore> store;
  Limits limits;
  std::map<std::string, SeriesId> ids;
  bool use_plans = false;
  std::map<std::string, RowPlanId> plans;

  SeriesId IdOf(const Labels& labels) {
    const std::string key = labels.ToString();
    const auto it = ids.find(key);
    if (it != ids.end()) return it->second;
    const SeriesId id = *store->Intern(labels);
    ids.emplace(key, id);
    return id;
  }
  void Append(const Row& row) {
    std::vector<SeriesId> row_ids;
    std::string layout;
    for (const Labels& labels : row.series) {
      row_ids.push_back(IdOf(labels));
      layout += labels.ToString();
    }
    Status status;
    if (use_plans) {
      auto it = plans.find(layout);
      if (it == plans.end()) it = plans.emplace(layout, *store->Plan(row_ids)).first;
      status = store->Append(row.key, it->second, row.values);
    } else {
      status = store->Append(row.key, row_ids, row.values);
    }
    ASSERT_TRUE(status.ok()) << status;
  }
  void Expire() {
    for (const SeriesId id : store->Expire()) {
      std::erase_if(ids, [id](const auto& entry) { return entry.second == id; });
    }
  }
  void SaveAndRestore() {
    BinaryWriter out;
    StoreSnapshot::Save(*store, out);
    BinaryReader in(out.data());
    auto set = std::make_shared<DemandSet>(store->results().demands());
    StatusOr<std::unique_ptr<SeriesStore>> restored = StoreSnapshot::Restore(in, set, limits);
    ASSERT_TRUE(restored.ok()) << restored.status();
    ASSERT_TRUE(in.Finish("state").ok());
    store = *std::move(restored);
    plans.clear();
    BinaryWriter again;
    StoreSnapshot::Save(*store, again);
    ASSERT_EQ(out.data().size(), again.data().size());
  }
  // Returns the name of a value: the series, followed by the bucket number for all but the first
  // bucket of a histogram.
  static std::string NameOf(const std::string& series, size_t bucket) {
    return bucket == 0 ? series : Cat(series, "#", bucket);
  }
  std::map<std::string, uint64_t> Read(const DemandSet& set, uint32_t demand) {
    std::map<std::string, uint64_t> out;
    const std::span<const Labels* const> series =
        store->results().Series(set.demands[demand].selector);
    const std::vector<double> arguments = OracleArguments(set.demands[demand]);
    const Column column = store->results().Read(demand, arguments);
    const size_t width = ValuesPerSeries(set.demands[demand].function, arguments.size());
    EXPECT_EQ(column.values.size(), series.size() * width);
    EXPECT_EQ(column.present.size(), series.size());
    for (size_t i = 0; i < series.size(); ++i) {
      for (size_t k = 0; column.present[i] && k < width; ++k)
        out[NameOf(series[i]->ToString(), k)] =
            std::bit_cast<uint64_t>(column.values[i * width + k]);
    }
    return out;
  }
};

struct Source {
  std::string name;
  int64_t next;
  int64_t interval;
  int64_t jitter;
  std::vector<Labels> series;
  uint64_t sequence = 0;
};

class Scenario {
 public:
  explicit Scenario(uint64_t seed) : random_(seed) {}

  void Run(int ticks) {
    set_ = RandomDemands(random_, 24);
    since_.assign(set_->demands.size(), Position::Earliest());
    origin_ =
        Pick(random_, 0, 40) * kSecond + 1'000'000 * kSecond + Pick(random_, 0, 3) * 700 * kMilli;
    start_ = origin_;
    for (int i = 0; i < 4; ++i) {
      if (i >= 2) subjects_[i].limits.long_panes = 20;  // most windows are thus packed
      subjects_[i].store = std::make_unique<SeriesStore>(set_, subjects_[i].limits);
      subjects_[i].store->SetOrigin(At(origin_));
      subjects_[i].use_plans = i == 1 || i == 3;
    }
    for (int s = 0; s < 4; ++s) AddSource(s);
    int64_t tick = (start_ / kSecond) * kSecond;
    for (int k = 0; k < ticks && !testing::Test::HasFatalFailure(); ++k) {
      tick += kSecond;
      if (Chance(random_, 0.01)) tick += Pick(random_, 1, 200) * kSecond;  // all sources are silent
      Generate(tick);
      for (int64_t half = 0; half < 2; ++half) {  // aligned ticks lie between the whole seconds
        const int64_t at = half == 0 ? AlignedTick(tick) : tick;
        if (at > sealed_) Tick(at);
      }
      Upset();
    }
  }

 private:
  // Returns the last aligned tick before `tick`: a multiple of a second, counted from the origin.
  int64_t AlignedTick(int64_t tick) const { return origin_ + FloorTo(tick - 1 - origin_, kSecond); }

  void AddSource(int s) {
    static const int64_t kIntervals[] = {100 * kMilli, kSecond, kSecond, 4 * kSecond};
    Source source;
    source.name = "source" + std::to_string(s);
    source.interval = kIntervals[s % 4];
    source.jitter = s % 2 == 0 ? 0 : source.interval / 3;
    source.next = start_ + Pick(random_, 1, 1000) * kMilli;
    for (int g = 0; g < 3; ++g) {
      const std::string node = std::to_string(s), gpu = std::to_string(g);
      source.series.push_back(Labels({{"__name__", "gauge"}, {"gpu", gpu}, {"node", node}}));
      source.series.push_back(Labels({{"__name__", "counter"}, {"gpu", gpu}, {"node", node}}));
      source.series.push_back(Labels({{"__name__", "unwanted"}, {"gpu", gpu}, {"node", node}}));
    }
    // Another source also reports this series, so some samples are duplicates.
    source.series.push_back(Labels({{"__name__", "gauge"}, {"gpu", "shared"}}));
    sources_.push_back(std::move(source));
  }

  double Value(const Labels& labels) {
    if (Chance(random_, 0.03)) return MissingValue();
    if (Chance(random_, 0.005)) return StaleMarker();
    if (Chance(random_, 0.004)) return NormalNan();
    if (Chance(random_, 0.002))
      return (Chance(random_, 0.5) ? 1 : -1) * std::numeric_limits<double>::infinity();
    if (labels.Name() == "counter") {
      double& total = totals_[labels.ToString()];
      if (Chance(random_, 0.02)) total = 0;
      total += static_cast<double>(Pick(random_, 0, 3)) * 0.7;
      return total;
    }
    if (Chance(random_, 0.001)) return 1e12;
    if (labels.Get("gpu") == "2") return static_cast<double>(Pick(random_, -2, 2));
    return (labels.Get("gpu") == "0" ? 1e9 : 0.5) + std::normal_distribution<double>(0, 1)(random_);
  }

  // Generates rows from all sources with times up to about 3 s after `tick`.
  void Generate(int64_t tick) {
    for (Source& source : sources_) {
      if (source.next < tick - 5 * kSecond) source.next += (tick - source.next) / kSecond * kSecond;
      if (Chance(random_, 0.004))
        source.next += Pick(random_, 5, 150) * kSecond;  // the source is absent for a while
      while (source.next <= tick + 3 * kSecond) {
        const int64_t at = source.next + (source.jitter > 0 ? Pick(random_, 0, source.jitter) : 0);
        source.next += source.interval;
        if (at <= sealed_) continue;
        Row row;
        names_.insert(source.name);
        row.key = {At(at), *names_.find(source.name), "boot", ++source.sequence, 0};
        row.series = source.series;
        if (Chance(random_, 0.02)) row.series.resize(4);
        for (const Labels& labels : row.series) row.values.push_back(Value(labels));
        pending_.push_back(row);
        rows_.push_back(std::move(row));
      }
    }
    // The first subject receives the rows in order; the other subjects receive them in random
    // order.
    for (const Row& row : rows_) subjects_[0].Append(row);
    for (int i = 1; i < 4; ++i) {
      std::shuffle(rows_.begin(), rows_.end(), random_);
      for (const Row& row : rows_) subjects_[i].Append(row);
    }
    rows_.clear();
  }

  // Adds the rows up to `tick` to the oracle's samples, in RowKey order. The first sample at a
  // position wins.
  void Learn(int64_t tick) {
    std::sort(pending_.begin(), pending_.end(), [](const Row& a, const Row& b) {
      return std::tie(a.key.position, a.key.source, a.key.sequence) <
             std::tie(b.key.position, b.key.source, b.key.sequence);
    });
    size_t used = 0;
    for (; used < pending_.size() && pending_[used].key.position <= At(tick); ++used) {
      const Row& row = pending_[used];
      for (size_t i = 0; i < row.series.size(); ++i)
        AddSample(row.series[i], row.key.position, row.values[i]);
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(used));
  }
  void AddSample(const Labels& labels, Position position, double value) {
    if (IsMissing(value)) return;
    auto& [known, samples] = truth_[labels.ToString()];
    known = labels;
    if (samples.empty() || samples.back().position < position) samples.push_back({position, value});
    if (samples.size() > 20000) samples.erase(samples.begin(), samples.begin() + 2000);
  }

  void Tick(int64_t tick) {
    Learn(tick);
    for (int i = 0; i < 4; ++i) {
      if (i == 1 && sealed_ > kNever) {  // seals in uneven intervals
        for (int64_t at = sealed_ + Pick(random_, 1, 400) * kMilli; at < tick;
             at += Pick(random_, 1, 900) * kMilli) {
          subjects_[i].store->SealTo(At(at));
        }
      }
      subjects_[i].store->SealTo(At(tick));
      subjects_[i].store->BeginTick(At(tick));
    }
    sealed_ = tick;
    if (Chance(random_, 0.3)) ReadAll(tick, 0.2);
    for (int r = 0; r < 3; ++r) {
      if (!Chance(random_, 0.6)) continue;
      const Labels labels({{"__name__", "recorded"}, {"r", std::to_string(r)}});
      const double value =
          Chance(random_, 0.1) ? StaleMarker() : static_cast<double>(Pick(random_, 0, 9));
      for (Subject& subject : subjects_)
        subject.store->Record(subject.IdOf(labels), At(tick), value);
      AddSample(labels, At(tick), value);
      if (Chance(random_, 0.2)) ReadAll(tick, 0.3);
    }
    ReadAll(tick, 1);
  }

  void ReadAll(int64_t tick, double share) {
    for (uint32_t d = 0; d < set_->demands.size(); ++d) {
      const Demand& demand = set_->demands[d];
      const int64_t base = demand.align_job ? origin_ : 0;
      if ((tick - base) % demand.interval != 0 || !Chance(random_, share)) continue;
      SCOPED_TRACE("demand " + std::to_string(d) + " " +
                   demand.Key(set_->selectors[demand.selector]) + " at " + std::to_string(tick));
      const std::map<std::string, uint64_t> first = subjects_[0].Read(*set_, d);
      for (int i = 1; i < 4; ++i) {
        ASSERT_EQ(first, subjects_[i].Read(*set_, d)) << "subject " << i;
      }
      Check(demand, d, tick, first);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  void Check(const Demand& demand, uint32_t d, int64_t tick,
             const std::map<std::string, uint64_t>& got) {
    size_t expected = 0;
    const size_t width = ValuesPerSeries(demand.function, OracleArguments(demand).size());
    for (size_t bucket = 0; bucket < width; ++bucket)
      Check(demand, d, tick, got, bucket, &expected);
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_EQ(expected, got.size());
  }
  void Check(const Demand& demand, uint32_t d, int64_t tick,
             const std::map<std::string, uint64_t>& got, size_t bucket, size_t* expected) {
    for (const auto& [series, entry] : truth_) {
      const std::string name = Subject::NameOf(series, bucket);
      const auto& [labels, samples] = entry;
      if (!set_->selectors[demand.selector].Matches(labels)) continue;
      const bool attempt = demand.kind == WindowKind::kAttempt || demand.kind == WindowKind::kFirst;
      const Position since = attempt ? std::max(since_[d], attempt_) : since_[d];
      double error = 0;
      const std::optional<double> want =
          OracleRead(demand, At(tick), since, samples, &error, bucket);
      const auto it = got.find(name);
      ASSERT_EQ(want.has_value(), it != got.end()) << name << (want ? " is missing" : " is there");
      if (!want) continue;
      ++*expected;
      const auto have = std::bit_cast<double>(it->second);
      if (std::isnan(*want)) {
        ASSERT_TRUE(std::isnan(have)) << name << " " << have;
        continue;
      }
      if (std::isinf(*want)) {
        ASSERT_EQ(*want, have) << name;
        continue;
      }
      if (demand.function == WindowFunction::kShare) {
        ASSERT_EQ(*want, have) << name;
        continue;
      }
      double scale = 0;
      for (const OracleSample& s : samples) {
        const bool counted =
            demand.kind == WindowKind::kSamples || demand.kind == WindowKind::kFirst;
        if (std::isfinite(s.value) &&
            (counted || s.position > At(tick - demand.offset - demand.range))) {
          scale = std::max(scale, std::fabs(s.value));
        }
      }
      const bool variance = demand.function == WindowFunction::kStdvar;
      const double tolerance =
          1e-9 * std::fabs(*want) + 4e-15 * scale * (variance ? scale * 1e-9 + 1 : 1) +
          (demand.function == WindowFunction::kStddev || variance ? 1e-6 * std::fabs(*want) : 0) +
          error;
      ASSERT_NEAR(*want, have, tolerance) << name;
    }
  }

  // Performs random operations that must not change any result.
  void Upset() {
    if (Chance(random_, 0.05)) subjects_[2].SaveAndRestore();
    if (Chance(random_, 0.05)) subjects_[3].SaveAndRestore();
    if (Chance(random_, 0.05)) subjects_[3].Expire();
    if (Chance(random_, 0.05)) subjects_[1].Expire();
    if (Chance(random_, 0.01)) Replace();
    if (Chance(random_, 0.01)) {
      attempt_ = At(sealed_);
      for (Subject& subject : subjects_) subject.store->BeginAttempt(At(sealed_ + 1));
    }
  }

  // Replaces some demands. The results of the other demands must not change.
  void Replace() {
    auto next = std::make_shared<DemandSet>();
    next->selectors = set_->selectors;
    std::vector<Position> since;
    std::set<std::string> keys;
    const auto add = [&](const Demand& demand, Position from) {
      if (!keys.insert(demand.Key(next->selectors[demand.selector])).second) return;
      next->demands.push_back(demand);
      since.push_back(from);
    };
    for (uint32_t d = 0; d < set_->demands.size(); ++d) {
      if (d < 3 || Chance(random_, 0.7)) add(set_->demands[d], since_[d]);
    }
    std::set<std::string> before;
    for (const Demand& demand : set_->demands)
      before.insert(demand.Key(set_->selectors[demand.selector]));
    while (next->demands.size() < 27) {
      const Demand demand = RandomDemand(random_);
      if (!before.count(demand.Key(next->selectors[demand.selector]))) add(demand, At(sealed_));
    }
    set_ = next;
    since_ = since;
    for (Subject& subject : subjects_) {
      subject.store->Replace(set_);
      subject.ids.clear();
      subject.plans.clear();
    }
    for (uint32_t d = 0; d < set_->demands.size(); ++d) {
      const Demand& demand = set_->demands[d];
      const int64_t length = demand.kind == WindowKind::kTime ? demand.range : 0;
      ASSERT_EQ(subjects_[0].store->results().FullFrom(d),
                since_[d] == Position::Earliest()
                    ? Position::Earliest()
                    : since_[d] + Duration::Nanos(demand.offset + length));
    }
  }

  Random random_;
  std::shared_ptr<DemandSet> set_;
  std::vector<Position> since_;
  int64_t origin_ = 0, start_ = 0, sealed_ = kNever;
  Position attempt_ = Position::Earliest();
  Subject subjects_[4];
  std::vector<Source> sources_;
  std::set<std::string> names_;
  std::vector<Row> rows_, pending_;
  std::map<std::string, double> totals_;
  std::map<std::string, std::pair<Labels, std::vector<OracleSample>>> truth_;
};

class OracleTest : public testing::TestWithParam<uint64_t> {};

TEST_P(OracleTest, RandomJobMatchesOracle) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  Scenario scenario(GetParam());
  scenario.Run(300);
}
// The test is single-threaded, so a few lifetimes suffice under the thread sanitizer. Other builds
// run all lifetimes.
#ifdef __SANITIZE_THREAD__
constexpr uint64_t kLives = 2;
#else
constexpr uint64_t kLives = 12;
#endif
INSTANTIATE_TEST_SUITE_P(Seeds, OracleTest, testing::Range<uint64_t>(1, kLives + 1));

}  // namespace
}  // namespace pitwall::window
