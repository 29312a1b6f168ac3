#include "services/history/segments/row_tables.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "services/base/cancellation.h"

namespace pitwall::history {
namespace {

constexpr size_t kRowColumns = 4;  // time, sequence, step, and mode, before the schema's columns

}  // namespace

class RowTables::OpenTable {
 public:
  OpenTable(const RowTables& tables, const Place& place)
      : tables_(tables.tables_),
        number_(place.table),
        columns_(kRowColumns + tables.window_.schemas()[place.schema]->series.size()) {}
  size_t number() const { return number_; }
  StatusOr<const store::Table*> Get() {
    if (table_ == nullptr) {
      ASSIGN_OR_RETURN(table_, tables_.reader().TableAt(number_));
      if (table_->columns.size() != columns_)
        return tables_.Damaged("table that does not match its schema");
    }
    return table_.get();
  }

 private:
  const SegmentTables& tables_;
  const size_t number_;
  const size_t columns_;
  store::TablePtr table_;
};

StatusOr<DecodedColumnPtr> RowTables::ReadColumn(OpenTable* open, size_t column, bool keep) const {
  RETURN_IF_ERROR(CheckCanceled());
  const SegmentCache::Key key = {window_.facts().generation, static_cast<uint32_t>(open->number()),
                                 static_cast<uint32_t>(column)};
  const bool cached = keep && cache_ != nullptr;
  if (cached) {
    if (DecodedColumnPtr found = cache_->Find<DecodedColumn>(key); found != nullptr) return found;
  }
  ASSIGN_OR_RETURN(const store::Table* table, open->Get());
  const auto read = std::make_shared<DecodedColumn>();
  blocks::BlockDecoder decoder;
  for (size_t g = 0; g < table->groups.size(); ++g) {
    if (table->columns[column] == store::ColumnType::kInt) {
      RETURN_IF_ERROR(tables_.reader().ReadInts(*table, g, column, &read->ints));
    } else {
      RETURN_IF_ERROR(tables_.reader().ReadValues(*table, g, column, &decoder, &read->values));
    }
  }
  if (cached) cache_->Put(key, read, read->bytes());
  return DecodedColumnPtr(read);
}

StatusOr<DecodedColumnPtr> RowTables::ReadRowTimes(const Place& place, bool keep) const {
  OpenTable table(*this, place);
  return ReadColumn(&table, 0, keep);
}

StatusOr<RowTable> RowTables::ReadWhole(size_t number) const {
  const Place& place = tables_.rows()[number];
  RowTable out;
  out.origin = window_.origins()[place.origin];
  out.schema = window_.schemas()[place.schema];
  out.columns.resize(out.schema->series.size());
  std::iota(out.columns.begin(), out.columns.end(), 0);
  out.values.resize(out.columns.size());
  OpenTable table(*this, place);
  size_t column = 0;
  for (auto* ints : {&out.times, &out.sequences, &out.steps, &out.modes}) {
    ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(&table, column++, false));
    *ints = read->ints;
    if (ints->size() != out.times.size()) return tables_.Damaged("columns of different lengths");
  }
  for (std::vector<double>& values : out.values) {
    ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(&table, column++, false));
    values = read->values;
    if (values.size() != out.times.size()) return tables_.Damaged("columns of different lengths");
  }
  RETURN_IF_ERROR(window_.CheckModes(out.modes));
  return out;
}

std::vector<RowsTable> RowTables::Descriptions() const {
  std::vector<RowsTable> out;
  out.reserve(tables_.rows().size());
  for (const Place& place : tables_.rows()) {
    const store::TableEntry& entry = tables_.reader().entries()[place.table];
    out.push_back({window_.origins()[place.origin], window_.schemas()[place.schema], entry.first_ns,
                   entry.last_ns});
  }
  return out;
}

Status RowTables::ReadViews(SeriesSet* set, const TimeRange& range,
                            std::vector<RowView>* out) const {
  for (size_t number = 0; number < tables_.rows().size(); ++number) {
    const Place& place = tables_.rows()[number];
    const store::TableEntry& entry = tables_.reader().entries()[place.table];
    if (entry.first_ns >= range.to_ns || entry.last_ns < range.from_ns) continue;
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(*window_.schemas()[place.schema]));
    if (wanted->columns.empty()) continue;
    ASSIGN_OR_RETURN(RowView view, ReadView(number, wanted->columns, range));
    out->push_back(std::move(view));
  }
  return OkStatus();
}

// The search relies on rows being in time order.
StatusOr<RowView> RowTables::ReadView(size_t number, const std::vector<uint32_t>& columns,
                                      const TimeRange& range) const {
  const Place& place = tables_.rows()[number];
  RowView view(window_.origins()[place.origin], window_.schemas()[place.schema]);
  view.table = number;
  view.columns = columns;
  view.owners.reserve(3 + columns.size());
  OpenTable table(*this, place);
  ASSIGN_OR_RETURN(const DecodedColumnPtr times, ReadColumn(&table, 0, true));
  const auto at = [&](int64_t time_ns) {
    return static_cast<size_t>(std::lower_bound(times->ints.begin(), times->ints.end(), time_ns) -
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
      return tables_.Damaged("columns of different lengths");
    *ints = std::span(read->ints).subspan(view.first_row, count);
    view.owners.push_back(read);
  }
  RETURN_IF_ERROR(window_.CheckModes(view.modes));
  view.values.reserve(columns.size());
  for (const uint32_t column : columns) {
    ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(&table, kRowColumns + column, true));
    if (read->values.size() != times->ints.size())
      return tables_.Damaged("columns of different lengths");
    view.values.push_back(std::span(read->values).subspan(view.first_row, count));
    view.owners.push_back(read);
  }
  return view;
}

Status RowTables::AddSequences(RowView* view) const {
  OpenTable table(*this, tables_.rows()[view->table]);
  ASSIGN_OR_RETURN(const DecodedColumnPtr read, ReadColumn(&table, 1, true));
  if (read->ints.size() < view->first_row + view->times.size())
    return tables_.Damaged("columns of different lengths");
  view->sequences = std::span(read->ints).subspan(view->first_row, view->times.size());
  view->owners.push_back(read);
  return OkStatus();
}

}  // namespace pitwall::history
