#include "services/insights/keep/window_rows.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "services/model/value.h"

namespace pitwall::insights {
namespace {

template <typename T>
void Permute(const std::vector<uint32_t>& order, std::vector<T>* column) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const uint32_t i : order) out.push_back((*column)[i]);
  *column = std::move(out);
}

template <typename T>
void AppendTo(std::vector<T>* to, const std::vector<T>& from) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

int64_t ModeNames::Of(std::string_view name) {
  const int64_t found = Find(name);
  if (found >= 0) return found;
  names_.emplace_back(name);
  return static_cast<int64_t>(names_.size()) - 1;
}

int64_t ModeNames::Find(std::string_view name) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return static_cast<int64_t>(i);
  }
  return -1;
}

void RowTable::Sort() {
  const auto before = [this](uint32_t a, uint32_t b) {
    return std::tie(times[a], sequences[a]) < std::tie(times[b], sequences[b]);
  };
  std::vector<uint32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  if (std::is_sorted(order.begin(), order.end(), before)) return;
  std::stable_sort(order.begin(), order.end(), before);
  Permute(order, &times);
  Permute(order, &sequences);
  Permute(order, &steps);
  Permute(order, &modes);
  for (std::vector<double>& column : values) Permute(order, &column);
}

void RowTable::Append(const RowTable& other) {
  AppendTo(&times, other.times);
  AppendTo(&sequences, other.sequences);
  AppendTo(&steps, other.steps);
  AppendTo(&modes, other.modes);
  for (size_t i = 0; i < values.size(); ++i) AppendTo(&values[i], other.values[i]);
}

SeriesMerger::SeriesMerger(const std::vector<const RowTable*>& tables, SeriesSet* set)
    : tables_(tables), set_(set) {}

Status SeriesMerger::Prepare() {
  for (const RowTable* table : tables_) {
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set_->Of(*table->schema));
    columns_.resize(set_->all().size());
    for (size_t i = 0; i < table->columns.size(); ++i) {
      const auto at =
          std::lower_bound(wanted->columns.begin(), wanted->columns.end(), table->columns[i]);
      if (at == wanted->columns.end() || *at != table->columns[i]) continue;
      const uint32_t series = wanted->series[static_cast<size_t>(at - wanted->columns.begin())];
      if (columns_[series].empty()) series_.push_back(series);
      columns_[series].push_back({table, i});
    }
  }
  return OkStatus();
}

void SeriesMerger::Read(uint32_t series, SeriesRows* out) const {
  out->times_ns.clear();
  out->values.clear();
  out->steps.clear();
  out->modes.clear();
  out->has_steps = false;
  const auto take = [&](const RowTable& table, size_t row, double value) {
    out->times_ns.push_back(table.times[row]);
    out->values.push_back(value);
    out->steps.push_back(table.steps[row]);
    out->modes.push_back(table.modes[row]);
    out->has_steps |= table.steps[row] != kNoStep;
  };
  const std::vector<Column>& columns = columns_[series];
  if (columns.size() == 1) {
    const RowTable& table = *columns[0].table;
    const std::vector<double>& values = table.values[columns[0].column];
    for (size_t row = 0; row < values.size(); ++row) {
      if (IsMissing(values[row])) continue;
      if (!out->times_ns.empty() && out->times_ns.back() == table.times[row]) continue;
      take(table, row, values[row]);
    }
    return;
  }
  struct Row {
    int64_t time;
    const Column* column;
    size_t row;
  };
  std::vector<Row> rows;
  for (const Column& column : columns) {
    const std::vector<double>& values = column.table->values[column.column];
    for (size_t row = 0; row < values.size(); ++row) {
      if (!IsMissing(values[row])) rows.push_back({column.table->times[row], &column, row});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.column == b.column) return false;
    const RowTable& x = *a.column->table;
    const RowTable& y = *b.column->table;
    return std::tie(x.origin->source, x.origin->boot, x.sequences[a.row], x.schema->id) <
           std::tie(y.origin->source, y.origin->boot, y.sequences[b.row], y.schema->id);
  });
  for (const Row& row : rows) {
    if (!out->times_ns.empty() && out->times_ns.back() == row.time) continue;
    take(*row.column->table, row.row, row.column->table->values[row.column->column][row.row]);
  }
}

}  // namespace pitwall::insights
