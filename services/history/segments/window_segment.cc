#include "services/history/segments/window_segment.h"

#include <algorithm>
#include <numeric>

#include "services/base/cancellation.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

constexpr size_t kRowColumns = 4;  // time, sequence, step, and mode, before the schema's columns

}  // namespace

Status WindowSegment::Damaged(std::string_view what) const {
  return DataLoss(Cat(path_, ": ", what, "; the window that starts at Unix time ",
                      facts_.window_ns / kNanosPerSecond,
                      " cannot be read; restore the file or delete the job"));
}

class WindowSegment::OpenTable {
 public:
  OpenTable(const WindowSegment& segment, const Place& place)
      : segment_(segment),
        number_(place.table),
        columns_(kRowColumns + segment.schemas_[place.schema]->series.size()) {}
  size_t number() const { return number_; }
  StatusOr<const store::Table*> Get() {
    if (table_ == nullptr) {
      ASSIGN_OR_RETURN(table_, segment_.reader_->TableAt(number_));
      if (table_->columns.size() != columns_)
        return segment_.Damaged("table that does not match its schema");
    }
    return table_.get();
  }

 private:
  const WindowSegment& segment_;
  const size_t number_;
  const size_t columns_;
  store::TablePtr table_;
};

StatusOr<const OriginPtr*> WindowSegment::OriginAt(int64_t index) const {
  if (index < 0 || index >= static_cast<int64_t>(origins_.size())) return Damaged("unknown origin");
  return &origins_[static_cast<size_t>(index)];
}

StatusOr<DecodedColumnPtr> WindowSegment::ReadColumn(OpenTable* open, size_t column,
                                                     bool keep) const {
  RETURN_IF_ERROR(CheckCanceled());
  const SegmentCache::Key key = {facts_.generation, static_cast<uint32_t>(open->number()),
                                 static_cast<uint32_t>(column)};
  const bool cached = keep && shared_.cache != nullptr;
  if (cached) {
    if (DecodedColumnPtr found = shared_.cache->Find<DecodedColumn>(key); found != nullptr)
      return found;
  }
  ASSIGN_OR_RETURN(const store::Table* table, open->Get());
  const auto read = std::make_shared<DecodedColumn>();
  blocks::BlockDecoder decoder;
  for (size_t g = 0; g < table->groups.size(); ++g) {
    if (table->columns[column] == store::ColumnType::kInt) {
      RETURN_IF_ERROR(reader_->ReadInts(*table, g, column, &read->ints));
    } else {
      RETURN_IF_ERROR(reader_->ReadValues(*table, g, column, &decoder, &read->values));
    }
  }
  if (cached) shared_.cache->Put(key, read, read->bytes());
  return DecodedColumnPtr(read);
}

StatusOr<DecodedColumnPtr> WindowSegment::ReadRowTimes(const Place& place, bool keep) const {
  OpenTable table(*this, place);
  return ReadColumn(&table, 0, keep);
}

// This search relies on rows being in time order.
StatusOr<RowTable> WindowSegment::ReadTable(const Place& place,
                                            const std::vector<uint32_t>& columns,
                                            const TimeRange& range, bool keep) const {
  RowTable out;
  out.origin = origins_[place.origin];
  out.schema = schemas_[place.schema];
  out.columns = columns;
  OpenTable table(*this, place);
  size_t column = 0, from = 0, to = 0, rows = 0;
  const auto part = [&](const auto& all, auto* some) -> Status {
    if (all.size() != rows) return Damaged("columns of different lengths");
    some->assign(all.begin() + static_cast<ptrdiff_t>(from),
                 all.begin() + static_cast<ptrdiff_t>(to));
    return OkStatus();
  };
  for (auto* ints : {&out.times, &out.sequences, &out.steps, &out.modes}) {
    ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(&table, column++, keep));
    const std::vector<int64_t>& all = read->ints;
    if (ints == &out.times) {
      const auto at = [&](int64_t time_ns) {
        return static_cast<size_t>(std::lower_bound(all.begin(), all.end(), time_ns) - all.begin());
      };
      rows = all.size();
      from = at(range.from_ns);
      to = std::max(from, at(range.to_ns));
    }
    RETURN_IF_ERROR(part(all, ints));
  }
  out.values.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    ASSIGN_OR_RETURN(const DecodedColumnPtr read,
                     ReadColumn(&table, kRowColumns + columns[i], keep));
    RETURN_IF_ERROR(part(read->values, &out.values[i]));
  }
  RETURN_IF_ERROR(CheckModes(out.modes));
  return out;
}

StatusOr<RowTable> WindowSegment::ReadWhole(size_t table) const {
  std::vector<uint32_t> columns(schemas_[rows_[table].schema]->series.size());
  std::iota(columns.begin(), columns.end(), 0);
  return ReadTable(rows_[table], columns, kAllTimes, false);
}

std::vector<WindowSegment::RowsTable> WindowSegment::RowsTables() const {
  std::vector<RowsTable> out;
  out.reserve(rows_.size());
  for (const Place& place : rows_) {
    const store::TableEntry& entry = reader_->entries()[place.table];
    out.push_back({origins_[place.origin], schemas_[place.schema], entry.first_ns, entry.last_ns});
  }
  return out;
}

Status WindowSegment::ForEachWanted(
    SeriesSet* set, const TimeRange& range,
    const std::function<Status(size_t place, const std::vector<uint32_t>& columns)>& take) const {
  for (const Place& place : rows_) {
    const store::TableEntry& entry = reader_->entries()[place.table];
    if (entry.first_ns >= range.to_ns || entry.last_ns < range.from_ns) continue;
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(*schemas_[place.schema]));
    if (wanted->columns.empty()) continue;
    RETURN_IF_ERROR(take(static_cast<size_t>(&place - rows_.data()), wanted->columns));
  }
  return OkStatus();
}

Status WindowSegment::ReadRows(SeriesSet* set, const TimeRange& range, std::vector<RowTable>* out,
                               bool keep) const {
  return ForEachWanted(
      set, range, [&](size_t place, const std::vector<uint32_t>& columns) -> Status {
        ASSIGN_OR_RETURN(RowTable table, ReadTable(rows_[place], columns, range, keep));
        out->push_back(std::move(table));
        return OkStatus();
      });
}

Status WindowSegment::ReadViews(SeriesSet* set, const TimeRange& range,
                                std::vector<RowView>* out) const {
  return ForEachWanted(
      set, range, [&](size_t number, const std::vector<uint32_t>& columns) -> Status {
        const Place& place = rows_[number];
        RowView view(origins_[place.origin], schemas_[place.schema]);
        view.table = number;
        view.columns = columns;
        view.owners.reserve(3 + columns.size());
        OpenTable table(*this, place);
        ASSIGN_OR_RETURN(const DecodedColumnPtr times, ReadColumn(&table, 0, true));
        const auto at = [&](int64_t time_ns) {
          return static_cast<size_t>(
              std::lower_bound(times->ints.begin(), times->ints.end(), time_ns) -
              times->ints.begin());
        };
        view.first_row = at(range.from_ns);
        const size_t count = std::max(view.first_row, at(range.to_ns)) - view.first_row;
        view.times = std::span(times->ints).subspan(view.first_row, count);
        view.owners.push_back(times);
        for (auto [column, ints] : {std::pair(2, &view.steps), std::pair(3, &view.modes)}) {
          ASSIGN_OR_RETURN(const DecodedColumnPtr read,
                           ReadColumn(&table, static_cast<size_t>(column), true));
          if (read->ints.size() != times->ints.size())
            return Damaged("columns of different lengths");
          *ints = std::span(read->ints).subspan(view.first_row, count);
          view.owners.push_back(read);
        }
        RETURN_IF_ERROR(CheckModes(view.modes));
        view.values.reserve(columns.size());
        for (const uint32_t column : columns) {
          ASSIGN_OR_RETURN(const DecodedColumnPtr read,
                           ReadColumn(&table, kRowColumns + column, true));
          if (read->values.size() != times->ints.size())
            return Damaged("columns of different lengths");
          view.values.push_back(std::span(read->values).subspan(view.first_row, count));
          view.owners.push_back(read);
        }
        out->push_back(std::move(view));
        return OkStatus();
      });
}

Status WindowSegment::AddSequences(RowView* view) const {
  OpenTable table(*this, rows_[view->table]);
  ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(&table, 1, true));
  if (read->ints.size() < view->first_row + view->times.size())
    return Damaged("columns of different lengths");
  view->sequences = std::span(read->ints).subspan(view->first_row, view->times.size());
  view->owners.push_back(read);
  return OkStatus();
}

Status WindowSegment::CheckModes(std::span<const int64_t> modes) const {
  for (const int64_t mode : modes) {
    if (mode < 0 || mode >= static_cast<int64_t>(modes_.all().size()))
      return Damaged("unknown mode");
  }
  return OkStatus();
}

Status WindowSegment::ReadSeries(SeriesSet* set, std::vector<StoredSeries>* out) const {
  for (const Place& place : series_) {
    const Schema& schema = *schemas_[place.schema];
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(schema));
    if (wanted->columns.empty()) continue;
    ASSIGN_OR_RETURN(const store::TablePtr table, TableAt(place.table));
    for (size_t g = 0; g < table->groups.size(); ++g) {
      std::vector<int64_t> columns, first, last, steps;
      RETURN_IF_ERROR(reader_->ReadInts(*table, g, 2, &columns));
      // The group is skipped early, because most groups have no selected series.
      std::vector<std::pair<size_t, uint32_t>> hits;
      for (size_t row = 0; row < columns.size(); ++row) {
        const auto at = std::lower_bound(wanted->columns.begin(), wanted->columns.end(),
                                         static_cast<uint32_t>(columns[row]));
        if (at == wanted->columns.end() || *at != columns[row]) continue;
        hits.emplace_back(row, wanted->series[static_cast<size_t>(at - wanted->columns.begin())]);
      }
      if (hits.empty()) continue;
      std::vector<std::string> blobs;
      RETURN_IF_ERROR(reader_->ReadInts(*table, g, 0, &first));
      RETURN_IF_ERROR(reader_->ReadInts(*table, g, 1, &last));
      RETURN_IF_ERROR(reader_->ReadInts(*table, g, 3, &steps));
      RETURN_IF_ERROR(reader_->ReadTexts(*table, g, 4, &blobs));
      for (const auto& [row, series] : hits) {
        StoredSeries s{series, first[row], last[row], steps[row] != 0, {}};
        BinaryReader in(blobs[row]);
        if (facts_.metrics.bytes == 0) s.rows[1] = RestoreRows(in);
        if (!facts_.has_rows) s.rows[0] = RestoreRows(in);
        RETURN_IF_ERROR(in.Finish(path_));
        out->push_back(std::move(s));
      }
    }
  }
  return OkStatus();
}

Status WindowSegment::ReadHeartbeats(std::vector<Heartbeat>* out) const {
  ASSIGN_OR_RETURN(const store::TablePtr table, TableAt(beats_));
  for (size_t g = 0; table != nullptr && g < table->groups.size(); ++g) {
    std::array<std::vector<int64_t>, 5> ints;
    for (size_t c = 0; c < ints.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*table, g, c, &ints[c]));
    for (size_t row = 0; row < ints[0].size(); ++row) {
      ASSIGN_OR_RETURN(const OriginPtr* origin, OriginAt(ints[1][row]));
      out->push_back({*origin, ints[0][row], ints[2][row], ints[3][row], ints[4][row] != 0});
    }
  }
  return OkStatus();
}

Status WindowSegment::ReadHeartbeatRuns(std::vector<HeartbeatRun>* out) const {
  if (beat_runs_ == kNoTable) {  // an older segment without heartbeat runs
    std::vector<Heartbeat> beats;
    RETURN_IF_ERROR(ReadHeartbeats(&beats));
    for (HeartbeatRun& run : RunsOf(beats)) out->push_back(std::move(run));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const store::TablePtr table, TableAt(beat_runs_));
  for (size_t g = 0; g < table->groups.size(); ++g) {
    std::array<std::vector<int64_t>, 6> ints;
    for (size_t c = 0; c < ints.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*table, g, c, &ints[c]));
    for (size_t row = 0; row < ints[0].size(); ++row) {
      ASSIGN_OR_RETURN(const OriginPtr* origin, OriginAt(ints[1][row]));
      out->push_back(
          {ints[0][row], {*origin, ints[2][row], ints[3][row], ints[4][row], ints[5][row] != 0}});
    }
  }
  return OkStatus();
}

StatusOr<Spreads> WindowSegment::ReadSpreads() const {
  Spreads out;
  ASSIGN_OR_RETURN(const store::TablePtr table, TableAt(spread_));
  for (size_t g = 0; table != nullptr && g < table->groups.size(); ++g) {
    std::array<std::vector<std::string>, 3> texts;
    for (size_t c = 0; c < texts.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadTexts(*table, g, 1 + c, &texts[c]));
    for (size_t row = 0; row < texts[0].size(); ++row) {
      Spread spread;
      BinaryReader in(texts[2][row]);
      spread.sketch.Restore(in);
      spread.sum = in.Double();
      RETURN_IF_ERROR(in.Finish(path_));
      out[{texts[0][row], texts[1][row]}] = std::move(spread);
    }
  }
  return out;
}

}  // namespace pitwall::history
