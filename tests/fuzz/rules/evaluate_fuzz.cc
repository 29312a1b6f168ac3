// Fuzzes the streaming engine (store, subqueries, and evaluator) with any expression that compiles,
// over a few series derived from the same bytes. Twice during the run, the state of one of two
// engines is saved and restored. Its results must be bit-identical to those of the uninterrupted
// engine.
//
//   bytes: four for options and a seed for the samples, then the expression
#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "rules/eval/evaluator.h"
#include "rules/plan/query.h"
#include "services/base/check.h"
#include "services/engine/ticks/subqueries.h"
#include "services/model/value.h"
#include "services/window/store/series_store.h"
#include "services/window/store/store_snapshot.h"

namespace {

using namespace pitwall;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kTicks = 8;
constexpr int kSeries = 6;
constexpr window::Limits kLimits{.max_series = 200, .max_open_samples = 10'000};
// Limit on the work of a plan. A window of 4096 panes is allowed but expensive, and its thousandth
// pane does not reveal new defects.
constexpr int64_t kMaxSubquerySteps = 256;

struct Engine {
  explicit Engine(const plan::ProgramPtr& p)
      : program(p),
        store(std::make_unique<window::SeriesStore>(Demands(), kLimits)),
        subqueries(std::make_unique<engine::Subqueries>(p, 0, kLimits)),
        evaluator(std::make_unique<eval::Evaluator>(p, 0, eval::EvaluatorOptions{10'000})) {}

  std::shared_ptr<const DemandSet> Demands() const {
    return {program, &program->domains[0].demands};
  }
  void Start(int64_t origin, int64_t from) {
    store->SetOrigin(Position::FromNs(origin));
    subqueries->SetOrigin(Position::FromNs(origin));
    subqueries->schedule().Start(Position::FromNs(from), Position::Earliest());
  }
  void SaveAndRestore() {
    BinaryWriter out;
    window::StoreSnapshot::Save(*store, out);
    BinaryWriter subquery_bytes;
    subqueries->Save(subquery_bytes);
    BinaryReader in(out.data());
    auto restored = window::StoreSnapshot::Restore(in, Demands(), kLimits);
    PITWALL_CHECK(restored.ok());
    BinaryWriter again;
    window::StoreSnapshot::Save(**restored, again);
    PITWALL_CHECK(again.data() == out.data());
    store = *std::move(restored);
    BinaryReader subquery_in(subquery_bytes.data());
    subqueries = std::make_unique<engine::Subqueries>(program, 0, kLimits);
    PITWALL_CHECK(subqueries->Restore(subquery_in).ok());
    evaluator = std::make_unique<eval::Evaluator>(program, 0, eval::EvaluatorOptions{10'000});
  }
  // Evaluates subqueries that are due before `tick`, then the tick itself.
  StatusOr<const eval::Vector*> Tick(int64_t tick) {
    while (true) {
      const int64_t at = std::min(tick, subqueries->schedule().NextTick().ns());
      store->SealTo(Position::FromNs(at));
      store->BeginTick(Position::FromNs(at));
      evaluator->Begin(at, &store->results(), subqueries->views());
      subqueries->Begin(Position::FromNs(at));
      subqueries->Finish(evaluator.get());
      if (at == tick) break;
    }
    return evaluator->Evaluate(program->domains[0].groups[0].rules[0].expr);
  }

  plan::ProgramPtr program;
  std::unique_ptr<window::SeriesStore> store;
  std::unique_ptr<engine::Subqueries> subqueries;
  std::unique_ptr<eval::Evaluator> evaluator;
};

double ValueFrom(std::mt19937& random, int kind, double before) {
  switch (kind) {
    case 0:  // a counter with occasional resets
      return random() % 7 == 0 ? static_cast<double>(random() % 3) : before + random() % 10;
    case 1:
      return static_cast<double>(random() % 5) - 2;
    default:
      break;
  }
  constexpr double kOdd[] = {0.0, -0.0, 1e308, -1e308, 5e-324, 0.1, 1, 1e15};
  const uint32_t pick = random() % 16;
  if (pick < 8) return kOdd[pick];
  if (pick == 8) return std::numeric_limits<double>::infinity();
  if (pick == 9) return -std::numeric_limits<double>::infinity();
  if (pick == 10) return std::numeric_limits<double>::quiet_NaN();
  return (static_cast<double>(random()) - 0x1p31) / 1e6;
}

std::string Show(const StatusOr<const eval::Vector*>& result) {
  std::string out;
  if (!result.ok()) return std::string(ToStd(result.status().message()));
  const eval::Vector& vector = **result;
  for (size_t i = 0; i < vector.size(); ++i) {
    if (!vector.present[i]) continue;
    out += vector.labels(i).ToString();
    const auto bits = std::bit_cast<uint64_t>(vector.values[i]);
    out.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const uint8_t options = data[0];
  std::mt19937 random(data[1] | data[2] << 8 | data[3] << 16);
  const std::string_view text(reinterpret_cast<const char*>(data) + 4, size - 4);
  constexpr int64_t kIntervals[] = {kSecond, 10 * kSecond, 60 * kSecond, 7 * kSecond};
  const int64_t interval = kIntervals[options % 4];
  const Duration length = Duration::Nanos(interval);
  const StatusOr<plan::QueryProgram> compiled =
      plan::CompileQuery(text, {length, options & 4 ? length : 5 * length, length});
  if (!compiled.ok()) return 0;
  const plan::DomainPlan& domain = compiled->program->domains[0];
  const int64_t first = 1000 * interval;
  int64_t reach = 0;
  for (const plan::Subquery& subquery : domain.subqueries) {
    reach += subquery.reach.ns();
    if ((subquery.reach + kTicks * length) / subquery.step > kMaxSubquerySteps) return 0;
  }
  if (reach > 500 * interval) return 0;

  // Series with the names used in the expression.
  std::vector<std::string> names = {"a", "b"};
  for (const Selector& selector : domain.demands.selectors) {
    if (names.size() < 5 && !selector.MetricName().empty())
      names.insert(names.begin(), std::string(selector.MetricName()));
  }
  std::vector<Labels> series;
  for (int i = 0; i < kSeries; ++i) {
    const std::string le = i % 3 == 2 ? "+Inf" : std::to_string(1 + i % 3);
    series.push_back(Labels::FromPairs({{"__name__", names[static_cast<size_t>(i) % names.size()]},
                                        {"x", std::to_string(i % 2)},
                                        {"y", std::to_string(i / 2)},
                                        {"le", le}}));
  }
  Engine whole(compiled->program);
  Engine halved(compiled->program);
  const int64_t from = first - interval - std::min(reach, 100 * interval);
  whole.Start(first, from);
  halved.Start(first, from);
  std::vector<double> before(kSeries);
  uint64_t sequence = 0;
  int64_t fed = from;
  for (int64_t tick = first; tick < first + kTicks * interval; tick += interval) {
    // Adds samples up to the tick, including some exactly at the tick.
    for (int step = 0; step < 3; ++step) {
      const int64_t at = step == 2 ? tick : tick - interval + 1 + random() % (interval - 1);
      if (at <= fed) continue;
      fed = at;
      std::vector<double> values(kSeries);
      for (int i = 0; i < kSeries; ++i) {
        const uint32_t what = random() % 16;
        const auto s = static_cast<size_t>(i);
        values[s] = what == 0   ? MissingValue()
                    : what == 1 ? StaleMarker()
                                : ValueFrom(random, (options >> 3) % 3, before[s]);
        if (what > 1) before[s] = values[s];
      }
      for (Engine* engine : {&whole, &halved}) {
        std::vector<window::SeriesId> ids;
        for (const Labels& labels : series) ids.push_back(*engine->store->Intern(labels));
        const Status appended =
            engine->store->Append({Position::FromNs(at), "fuzz", "", sequence, 0}, ids, values);
        // A subquery step may have sealed panes beyond the tick.
        PITWALL_CHECK(appended.ok());
      }
      ++sequence;
    }
    const std::string expected = Show(whole.Tick(tick));
    const std::string got = Show(halved.Tick(tick));
    PITWALL_CHECK(expected == got);
    const int64_t done = (tick - first) / interval;
    if (done == 2 || done == 4) halved.SaveAndRestore();
  }
  return 0;
}
