#include "services/window/store/store_snapshot.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/window/store/store_state.h"

namespace pitwall::window {
namespace {

constexpr uint8_t kFormat = 3;

uint64_t HashOf(const DemandSet& set) {
  std::string text = set.clock.ToString();
  for (const Selector& selector : set.selectors) CatTo(text, "\n", selector.Key());
  for (const Demand& demand : set.demands) {
    CatTo(text, "\n", demand.selector, " ",
          demand.selector < set.selectors.size() ? demand.Key(set.selectors[demand.selector]) : "");
  }
  return StableHash64(text);
}

std::vector<uint64_t*> Totals(StoreCounters& c) {
  return {&c.cells_appended, &c.samples_sealed, &c.stale_markers,   &c.duplicates,
          &c.unwanted,       &c.recorded,       &c.series_forgotten};
}

// Saves the open rows together with the layouts that they use.
void SaveRows(BinaryWriter& out, const OpenRows& open, const RowPlans& plans) {
  absl::flat_hash_map<uint32_t, uint64_t> plan_numbers;
  std::vector<uint32_t> used;
  for (const OpenRow& row : open.rows()) {
    if (plan_numbers.emplace(row.plan, used.size()).second) used.push_back(row.plan);
  }
  out.U64(used.size());
  for (const uint32_t plan : used) {
    std::vector<uint32_t> ids;
    for (const SeriesId id : plans.ids(plan)) ids.push_back(id.value());
    out.U32s(ids);
  }
  out.U64(open.rows().size());
  for (const OpenRow& row : open.rows()) {
    const RowKey key = open.KeyOf(row);
    out.U64(plan_numbers[row.plan]);
    out.I64(key.position.ns());
    out.Str(key.source);
    out.Str(key.boot_id);
    out.U64(key.sequence);
    out.U64(key.index);
    out.Doubles({open.Values(row), row.cells});
  }
}

// Returns the loaded plans, indexed by their number in the snapshot. The plans are neither held nor
// used.
std::vector<uint32_t> LoadPlans(BinaryReader& in, const SeriesTable& series, RowPlans& plans) {
  std::vector<uint32_t> used;
  const size_t layouts = in.Count(1);
  for (size_t k = 0; k < layouts && in.ok(); ++k) {
    std::vector<SeriesId> ids;
    for (const uint32_t id : in.U32s()) ids.push_back(SeriesId(id));
    const StatusOr<uint32_t> plan = plans.FindOrAdd(std::move(ids), series);
    if (!plan.ok()) {
      in.Fail();
      break;
    }
    used.push_back(*plan);
  }
  return used;
}

// Loads the rows that SaveRows wrote. Marks the reader as failed if a row is not after the `sealed`
// position.
void LoadRows(BinaryReader& in, const SeriesTable& series, Position sealed, RowPlans& plans,
              OpenRows& open) {
  const std::vector<uint32_t> used = LoadPlans(in, series, plans);
  const size_t rows = in.Count(6);
  for (size_t k = 0; k < rows && in.ok(); ++k) {
    const uint64_t number = in.U64();
    RowKey key;
    key.position = Position::FromNs(in.I64());
    key.source = in.StrView();
    key.boot_id = in.StrView();
    key.sequence = in.U64();
    key.index = static_cast<uint32_t>(in.U64());
    const std::vector<double> values = in.Doubles();
    if (!in.ok() || number >= used.size() || values.size() != plans.ids(used[number]).size() ||
        key.position <= sealed || key.position >= Position::Latest()) {
      in.Fail();
      break;
    }
    open.Add(key, used[number], values);
    plans.AddRow(used[number]);
  }
  for (const uint32_t plan : used) {
    if (in.ok()) plans.DropIfUnused(plan);
  }
}

}  // namespace

void StoreSnapshot::Save(const SeriesStore& store, BinaryWriter& out) {
  const SeriesStore::State& s = *store.state_;
  out.U8(kFormat);
  out.U64(HashOf(s.demands.set()));
  s.demands.SaveAges(out);
  StoreCounters totals = s.counters;
  for (const uint64_t* total : Totals(totals)) out.U64(*total);
  s.progress.Save(out);
  s.series.Save(out);
  s.columns.Save(out);
  s.windows.Save(out);
  SaveRows(out, s.open, s.plans);
}

Status StoreSnapshot::Load(BinaryReader& in, SeriesStore::State& s) {
  if (in.U8() != kFormat) return DataLoss("window state: unknown format");
  if (in.U64() != HashOf(s.demands.set())) {
    return in.ok() ? InvalidArgument("window state: saved with different demands")
                   : in.Finish("window state");
  }
  const std::vector<std::optional<DemandAge>> ages =
      s.demands.LoadAges(in, s.demands.set().demands.size());
  for (uint64_t* total : Totals(s.counters)) *total = in.U64();
  s.progress.Load(in);
  s.series.Load(in);
  s.columns.Load(in, s.series);
  if (!in.ok()) return in.Finish("window state");

  const Position sealed = s.progress.sealed();
  s.windows.Clear();
  s.demands.Assign(s.demands.shared_set(), ages, sealed, s.progress.origin(), s.windows);
  s.windows.Load(in, s.columns, sealed);
  LoadRows(in, s.series, sealed, s.plans, s.open);
  if (!in.ok()) return in.Finish("window state");
  s.progress.NoteChange();
  return OkStatus();
}

StatusOr<std::unique_ptr<SeriesStore>> StoreSnapshot::Restore(
    BinaryReader& in, std::shared_ptr<const DemandSet> demands, Limits limits) {
  auto store = std::make_unique<SeriesStore>(std::move(demands), limits);
  RETURN_IF_ERROR(Load(in, *store->state_));
  return store;
}

}  // namespace pitwall::window
