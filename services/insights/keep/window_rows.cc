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

std::vector<BeatRun> RunsOf(const std::vector<Beat>& beats) {
  std::vector<BeatRun> runs;
  for (const Beat& beat : beats) {
    const Beat* before = runs.empty() ? nullptr : &runs.back().last;
    if (before != nullptr && before->origin == beat.origin && !before->goodbye &&
        beat.promise_ns - before->promise_ns <= before->idle_ns) {
      runs.back().last = beat;
    } else {
      runs.push_back({beat.promise_ns, beat});
    }
  }
  return runs;
}

SeriesMerger::SeriesMerger(const std::vector<const RowTable*>& tables, SeriesSet* set)
    : tables_(tables), set_(set) {}

Status SeriesMerger::Prepare() {
  for (const RowTable* table : tables_) {
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set_->Of(*table->schema));
    columns_.resize(set_->all().size());
    const auto not_rising = std::adjacent_find(table->times.begin(), table->times.end(),
                                               [](int64_t a, int64_t b) { return a >= b; });
    rising_[table] = not_rising == table->times.end();
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

void SeriesMerger::ReadOne(const Column& column, int64_t from_ns, int64_t to_ns,
                           SeriesRows* out) const {
  const RowTable& table = *column.table;
  const std::vector<double>& values = table.values[column.column];
  const auto begin = table.times.begin();
  const auto first =
      static_cast<size_t>(std::lower_bound(begin, table.times.end(), from_ns) - begin);
  const auto last = static_cast<size_t>(std::lower_bound(begin, table.times.end(), to_ns) - begin);
  const auto part = [&](const auto& from, auto* to) {
    to->insert(to->end(), from.begin() + static_cast<ptrdiff_t>(first),
               from.begin() + static_cast<ptrdiff_t>(last));
  };
  const bool whole =
      rising_.at(&table) && std::none_of(values.begin() + static_cast<ptrdiff_t>(first),
                                         values.begin() + static_cast<ptrdiff_t>(last),
                                         [](double v) { return IsMissing(v); });
  if (whole) {
    part(table.times, &out->times_ns);
    part(values, &out->values);
    part(table.steps, &out->steps);
    part(table.modes, &out->modes);
  } else {
    for (size_t row = first; row < last; ++row) {
      if (IsMissing(values[row])) continue;
      if (!out->times_ns.empty() && out->times_ns.back() == table.times[row]) continue;
      out->times_ns.push_back(table.times[row]);
      out->values.push_back(values[row]);
      out->steps.push_back(table.steps[row]);
      out->modes.push_back(table.modes[row]);
    }
  }
  out->has_steps = std::any_of(out->steps.begin(), out->steps.end(),
                               [](int64_t step) { return step != kNoStep; });
}

void SeriesMerger::Read(uint32_t series, SeriesRows* out, int64_t from_ns, int64_t to_ns) const {
  out->times_ns.clear();
  out->values.clear();
  out->steps.clear();
  out->modes.clear();
  out->has_steps = false;
  const std::vector<Column>& columns = columns_[series];
  if (columns.size() == 1) return ReadOne(columns[0], from_ns, to_ns, out);
  // A source that changed its schema: one table after another, and nothing to sort.
  std::vector<Column> in_turn = columns;
  std::erase_if(in_turn, [](const Column& column) { return column.table->times.empty(); });
  std::sort(in_turn.begin(), in_turn.end(), [](const Column& a, const Column& b) {
    return a.table->times.front() < b.table->times.front();
  });
  const auto meet = [](const Column& a, const Column& b) {
    return a.table->times.back() >= b.table->times.front();
  };
  if (std::adjacent_find(in_turn.begin(), in_turn.end(), meet) == in_turn.end()) {
    for (const Column& column : in_turn) ReadOne(column, from_ns, to_ns, out);
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
      const int64_t time = column.table->times[row];
      if (time >= from_ns && time < to_ns && !IsMissing(values[row]))
        rows.push_back({time, &column, row});
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
    const RowTable& table = *row.column->table;
    out->times_ns.push_back(row.time);
    out->values.push_back(table.values[row.column->column][row.row]);
    out->steps.push_back(table.steps[row.row]);
    out->modes.push_back(table.modes[row.row]);
    out->has_steps |= table.steps[row.row] != kNoStep;
  }
}

}  // namespace pitwall::insights
