#include "services/window/store/series_store.h"

#include <utility>

#include "services/base/check.h"
#include "services/window/store/store_state.h"

namespace pitwall::window {

SeriesStore::State::State(std::shared_ptr<const DemandSet> set, const Limits& limits)
    : max_open_samples(limits.max_open_samples),
      series(limits),
      columns(*set),
      demands(limits),
      windows(limits) {
  demands.Assign(std::move(set), {}, sealed, origin, windows);
}

SeriesStore::SeriesStore(std::shared_ptr<const DemandSet> demands, Limits limits)
    : state_(std::make_unique<State>(std::move(demands), limits)) {}

SeriesStore::~SeriesStore() = default;

uint64_t SeriesStore::Generation(uint32_t selector) const {
  return state_->columns.generation(selector);
}
std::span<const Labels* const> SeriesStore::Series(uint32_t selector) const {
  return state_->columns.labels(selector);
}

Column SeriesStore::Read(uint32_t demand, std::span<const double> arguments) {
  State& s = *state_;
  PITWALL_CHECK(s.tick == s.sealed);
  return s.demands.Read(demand, arguments, {s.tick, s.attempt_at, s.version}, s.columns, s.series);
}

Status SeriesStore::DemandStatus(uint32_t demand) const { return state_->demands.StatusOf(demand); }
int64_t SeriesStore::FullFrom(uint32_t demand) const { return state_->demands.FullFrom(demand); }
std::optional<PrefixProgress> SeriesStore::Filling(uint32_t demand) const {
  return state_->demands.Filling(demand, state_->tick);
}

void SeriesStore::Replace(std::shared_ptr<const DemandSet> demands) {
  State& s = *state_;
  // Selectors with equal keys keep their columns. The old set must exist until the end of this
  // function.
  StringMap<uint32_t> by_key;
  for (uint32_t i = 0; i < demands->selectors.size(); ++i)
    by_key.emplace(demands->selectors[i].Key(), i);
  std::vector<uint32_t> moved_to;
  for (const Selector& selector : s.demands.set().selectors) {
    const auto it = by_key.find(selector.Key());
    moved_to.push_back(it == by_key.end() ? UINT32_MAX : std::exchange(it->second, UINT32_MAX));
  }
  s.columns.Replace(*demands, moved_to, s.series, s.version + 1);
  s.demands.Replace(std::move(demands), moved_to, s.sealed, s.origin, s.windows);
  ++s.layout;
  ++s.version;
}

void SeriesStore::Reset() {
  State& s = *state_;
  for (const OpenRow& row : s.open.rows()) s.plans.RemoveRow(row.plan);
  s.open.Clear();
  s.series.DropSamples();
  s.windows.Reset();
  s.demands.Reset();
  s.sealed = s.tick = s.attempt_at = kMinPosition;
  ++s.version;
}

bool SeriesStore::IsEmpty() const {
  return state_->series.count() == 0 && state_->open.rows().empty();
}
const StoreCounters& SeriesStore::counters() const { return state_->counters; }
const DemandSet& SeriesStore::demands() const { return state_->demands.set(); }

size_t SeriesStore::MemoryBytes() const {
  const State& s = *state_;
  return sizeof(State) + s.series.MemoryBytes() + s.columns.MemoryBytes() + s.plans.MemoryBytes() +
         s.open.MemoryBytes() + s.windows.MemoryBytes() + s.demands.MemoryBytes() +
         s.without_stale.capacity() * sizeof(double);
}

}  // namespace pitwall::window
