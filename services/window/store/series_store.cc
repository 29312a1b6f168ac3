#include "services/window/store/series_store.h"

#include <utility>

#include "services/window/store/store_state.h"

namespace pitwall::window {

SeriesStore::State::State(std::shared_ptr<const DemandSet> set, const Limits& limits)
    : max_open_samples(limits.max_open_samples),
      series(limits),
      columns(*set),
      demands(limits),
      windows(limits),
      results(demands, progress, columns, series) {
  demands.Assign(std::move(set), {}, progress.sealed(), progress.origin(), windows);
}

SeriesStore::SeriesStore(std::shared_ptr<const DemandSet> demands, Limits limits)
    : state_(std::make_unique<State>(std::move(demands), limits)) {}

SeriesStore::~SeriesStore() = default;

DemandResults& SeriesStore::results() { return state_->results; }
const SeriesTable& SeriesStore::series() const { return state_->series; }

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
  s.columns.Replace(*demands, moved_to, s.series, s.progress.version() + 1);
  s.demands.Replace(std::move(demands), moved_to, s.progress.sealed(), s.progress.origin(),
                    s.windows);
  ++s.layout;
  s.progress.NoteChange();
}

void SeriesStore::Reset() {
  State& s = *state_;
  for (const OpenRow& row : s.open.rows()) s.plans.RemoveRow(row.plan);
  s.open.Clear();
  s.series.DropSamples();
  s.windows.Reset();
  s.demands.Reset();
  s.progress.Reset();
}

const StoreCounters& SeriesStore::counters() const { return state_->counters; }

size_t SeriesStore::MemoryBytes() const {
  const State& s = *state_;
  return sizeof(State) + s.series.MemoryBytes() + s.columns.MemoryBytes() + s.plans.MemoryBytes() +
         s.open.MemoryBytes() + s.windows.MemoryBytes() + s.demands.MemoryBytes() +
         s.without_stale.capacity() * sizeof(double);
}

}  // namespace pitwall::window
