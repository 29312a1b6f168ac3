#include "services/history/flush/window_series.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

using store::ColumnRows;
using store::TableKind;
using enum store::ColumnType;

// Number of series per row group. Reading one series' rollups unpacks the whole group.
constexpr size_t kSeriesOfGroup = 128;
constexpr size_t kWaitingBytes = size_t{64} << 20;

// Disjoint sets of tables. The lowest table number represents its set.
class Joined {
 public:
  explicit Joined(size_t tables) : parent_(tables) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t Of(size_t table) {
    while (parent_[table] != table) table = parent_[table] = parent_[parent_[table]];
    return table;
  }
  void Join(size_t a, size_t b) {
    a = Of(a);
    b = Of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

}  // namespace

bool WaitingValues::Move(std::span<const double> values, int64_t* at) {
  if (file_ == nullptr) {
    StatusOr<std::shared_ptr<MemTableFile>> file = MemTableFile::Create(path_, faults_);
    if (!file.ok()) return false;
    file_ = *std::move(file);
  }
  const StatusOr<int64_t> written =
      file_->Append({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
  if (written.ok()) *at = *written;
  return written.ok();
}

void WaitingValues::Put(uint32_t series, std::span<const double> values) {
  Values& to = waiting_[series];
  to.count = values.size();
  const size_t bytes = values.size() * sizeof(double);
  if (bytes_ + bytes > most_bytes_ && Move(values, &to.at)) return;
  to.values.assign(values.begin(), values.end());
  bytes_ += bytes;
}

StatusOr<std::vector<double>> WaitingValues::Take(uint32_t series) {
  const auto at = waiting_.find(series);
  Values values = std::move(at->second);
  waiting_.erase(at);
  if (values.values.size() == values.count) {
    bytes_ -= values.count * sizeof(double);
    return std::move(values.values);
  }
  ASSIGN_OR_RETURN(const std::string bytes, file_->Read(values.at, values.count * sizeof(double)));
  values.values.resize(values.count);
  std::memcpy(values.values.data(), bytes.data(), bytes.size());
  return std::move(values.values);
}

SpreadsInOrder::SpreadsInOrder(const SeriesSet& set, const std::vector<uint32_t>& order,
                               WaitingValues waiting)
    : set_(set), waiting_(std::move(waiting)), group_of_(order.size()) {
  absl::flat_hash_map<std::pair<std::string_view, std::string_view>, uint32_t> numbers;
  for (const uint32_t series : order) {
    const Labels& labels = set.all()[series].labels;
    const auto [at, added] = numbers.try_emplace({labels.Get("node"), labels.Name()},
                                                 static_cast<uint32_t>(groups_.size()));
    if (added) groups_.emplace_back();
    groups_[at->second].series.push_back(series);
    group_of_[series] = at->second;
  }
}

void SpreadsInOrder::AddNext(Group* group, std::span<const double> values) {
  const uint32_t series = group->series[group->next++];
  if (values.empty()) return;
  if (group->spread == nullptr) group->spread = SpreadOf(&spreads_, set_.all()[series].labels);
  group->spread->Add(values);
}

Status SpreadsInOrder::Add(uint32_t series, std::span<const double> values) {
  Group& group = groups_[group_of_[series]];
  if (group.series[group.next] != series) {
    waiting_.Put(series, values);
    return OkStatus();
  }
  AddNext(&group, values);
  while (group.next < group.series.size() && waiting_.Has(group.series[group.next])) {
    ASSIGN_OR_RETURN(const std::vector<double> waited, waiting_.Take(group.series[group.next]));
    AddNext(&group, waited);
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<WindowSeries>> WindowSeries::Of(
    const std::vector<FlushInput::Table>& tables, bool fine, const std::string& path,
    std::shared_ptr<files::DiskFaults> faults) {
  std::unique_ptr<WindowSeries> out(new WindowSeries(fine));
  RETURN_IF_ERROR(out->FindSeries(tables));
  const std::vector<uint32_t> order = out->set_.InOrder();
  out->place_.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) out->place_[order[i]] = static_cast<uint32_t>(i);
  out->spreads_ = std::make_unique<SpreadsInOrder>(
      out->set_, order, WaitingValues(Cat(path, ".waiting.tmp"), std::move(faults), kWaitingBytes));
  out->entries_.resize(tables.size());
  return out;
}

Status WindowSeries::FindSeries(const std::vector<FlushInput::Table>& tables) {
  Joined joined(tables.size());
  for (size_t t = 0; t < tables.size(); ++t) {
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set_.Of(*tables[t].schema));
    for (size_t i = 0; i < wanted->columns.size(); ++i) {
      const uint32_t series = wanted->series[i];
      if (series == home_table_.size()) {
        home_table_.push_back(static_cast<uint32_t>(t));
        home_column_.push_back(wanted->columns[i]);
        home_schema_.push_back(tables[t].schema->id);
        shared_.push_back(false);
      } else {
        shared_[series] = true;
        joined.Join(home_table_[series], t);
      }
    }
  }
  for (size_t t = 0; t < tables.size(); ++t) {
    family_of_.push_back(joined.Of(t));
    families_[family_of_.back()].last = t;
  }
  return OkStatus();
}

Status WindowSeries::Summarize(uint32_t series, const SeriesRows& rows) {
  RETURN_IF_ERROR(spreads_->Add(series, rows.values));
  if (rows.times.empty()) return OkStatus();
  const TierRows tiers = RollUp(rows);
  const SeriesExtent extent = {rows.times.front(), rows.times.back(), rows.has_steps};
  pages_.Add(set_.all()[series].labels.Name(), home_schema_[series], home_column_[series], extent,
             tiers[kPagedTier]);
  if (!fine_) return OkStatus();
  BinaryWriter blob;
  SaveRows(tiers[0], blob);
  Entry& entry = entries_[home_table_[series]].emplace_back();
  entry = {place_[series], home_column_[series], extent, blob.Take()};
  entry.rollups.shrink_to_fit();
  return OkStatus();
}

Status WindowSeries::Add(size_t table, RowTable rows) {
  ASSIGN_OR_RETURN(const WantedColumns* wanted, set_.Of(*rows.schema));
  // The values are indexed by column, because all columns are requested.
  const std::vector<uint32_t>& series = wanted->series;
  Family& family = families_.at(family_of_[table]);
  std::vector<uint32_t> alone, shared;  // column numbers
  for (uint32_t column = 0; column < series.size(); ++column)
    (shared_[series[column]] ? shared : alone).push_back(column);
  std::sort(alone.begin(), alone.end(),
            [&](uint32_t a, uint32_t b) { return place_[series[a]] < place_[series[b]]; });
  {
    const RowView view(rows);
    const bool rising = TimesRise(view.times);
    for (const uint32_t column : alone) {
      ReadColumn(view, column, rising, &rows_);
      RETURN_IF_ERROR(Summarize(series[column], rows_));
    }
  }
  if (!shared.empty()) {
    RowTable& held = family.held.emplace_back();
    held = std::move(rows);
    std::vector<std::vector<double>> values;
    for (const uint32_t column : shared) values.push_back(std::move(held.values[column]));
    held.values = std::move(values);
    held.columns = std::move(shared);
  }
  if (table == family.last && !family.held.empty()) {
    RETURN_IF_ERROR(AddShared(&family));
    family.held = {};
  }
  return OkStatus();
}

Status WindowSeries::AddShared(Family* family) {
  SeriesSet set({}, SIZE_MAX);
  const std::vector<RowView> views(family->held.begin(), family->held.end());
  SeriesMerger merger(views, &set);
  RETURN_IF_ERROR(merger.Prepare());
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> by_place;  // series of this table in `set`
  for (const RowView& view : views) {
    ASSIGN_OR_RETURN(const WantedColumns* here, set_.Of(*view.schema));
    ASSIGN_OR_RETURN(const WantedColumns* there, set.Of(*view.schema));
    for (const uint32_t column : view.columns) {
      const uint32_t series = here->series[column];
      by_place[place_[series]] = {series, there->series[column]};
    }
  }
  for (const auto& [place, series] : by_place) {
    merger.Read(series.second, &rows_);
    RETURN_IF_ERROR(Summarize(series.first, rows_));
  }
  return OkStatus();
}

Status WindowSeries::WriteEntries(size_t table, const FlushInput::Table& of, SegmentBuilder* w) {
  std::vector<Entry>& entries = entries_[table];
  if (entries.empty()) return OkStatus();
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.place < b.place; });
  ASSIGN_OR_RETURN(const size_t number, w->out->AddTable(TableKind::kRollup,
                                                         Cat("series/", w->OriginOf(of.origin), "/",
                                                             w->SchemaOf(*of.schema)),
                                                         {kInt, kInt, kInt, kInt, kText}));
  std::vector<int64_t> first, last, column, steps;
  std::vector<std::string> rollups;
  RETURN_IF_ERROR(
      AddInGroups(w->out, number, entries.size(), kSeriesOfGroup, [&](size_t from, size_t to) {
        for (auto* ints : {&first, &last, &column, &steps}) ints->clear();
        rollups.clear();
        for (Entry& entry : std::span(entries).subspan(from, to - from)) {
          first.push_back(entry.extent.first_ns);
          last.push_back(entry.extent.last_ns);
          column.push_back(entry.column);
          steps.push_back(entry.extent.has_steps ? 1 : 0);
          rollups.push_back(std::move(entry.rollups));
        }
        const size_t n = to - from;
        return std::vector<ColumnRows>{Part(first, 0, n), Part(last, 0, n), Part(column, 0, n),
                                       Part(steps, 0, n), Part(rollups, 0, n)};
      }));
  entries = {};
  return OkStatus();
}

Status WindowSeries::Write(const std::vector<FlushInput::Table>& tables,
                           const std::optional<std::vector<OperatorTotal>>& totals,
                           SegmentBuilder* w, SegmentMeta* facts) {
  for (size_t t = 0; t < tables.size(); ++t) RETURN_IF_ERROR(WriteEntries(t, tables[t], w));
  return pages_.Write(spreads_->spreads(), totals, w, facts);
}

}  // namespace pitwall::history
