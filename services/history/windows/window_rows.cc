#include "services/history/windows/window_rows.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "services/model/value.h"

namespace pitwall::history {
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

template <typename T>
void AppendPart(std::span<const T> from, size_t first, size_t last, std::vector<T>* to) {
  const std::span<const T> part = from.subspan(first, last - first);
  to->insert(to->end(), part.begin(), part.end());
}

// Visits the selected rows of one table as contiguous runs.
template <typename Take>
void ForEachRun(const RowView& table, size_t column, bool rising, const RowFilter& filter,
                Take take) {
  const std::span<const double> values = table.values[column];
  const auto begin = table.times.begin(), end = table.times.end();
  const auto first = static_cast<size_t>(std::lower_bound(begin, end, filter.from_ns) - begin);
  const auto last = static_cast<size_t>(std::lower_bound(begin, end, filter.to_ns) - begin);
  size_t run = first;               // start of the current run
  if (rising && filter.mode < 0) {  // a run ends only at a missing value
    for (size_t row = first; row < last; ++row) {
      if (!IsMissing(values[row])) continue;
      if (run < row) take(values, run, row);
      run = row + 1;
    }
    if (run < last) take(values, run, last);
    return;
  }
  const auto close = [&](size_t row) {
    if (run < row) take(values, run, row);
    run = row + 1;
  };
  bool any = false;
  int64_t before = 0;  // time of the previous row with a value
  for (size_t row = first; row < last; ++row) {
    if (IsMissing(values[row])) {
      close(row);
      continue;
    }
    if (!rising) {
      const bool again = any && before == table.times[row];  // the first row at a time is used
      any = true;
      before = table.times[row];
      if (again) {
        close(row);
        continue;
      }
    }
    if (!filter.Selects(table.modes[row], table.steps[row])) close(row);
  }
  close(last);
}

void AppendRuns(const RowView& table, size_t column, bool rising, const RowFilter& filter,
                SeriesRows* out) {
  ForEachRun(table, column, rising, filter,
             [&](std::span<const double> values, size_t from, size_t to) {
               AppendPart(table.times, from, to, &out->times);
               AppendPart(values, from, to, &out->values);
               AppendPart(table.steps, from, to, &out->steps);
               AppendPart(table.modes, from, to, &out->modes);
             });
}

void Clear(SeriesRows* out) {
  out->times.clear();
  out->values.clear();
  out->steps.clear();
  out->modes.clear();
}

bool HasSteps(std::span<const int64_t> steps) {
  return std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != kNoStep; });
}

void SetHasSteps(SeriesRows* out) { out->has_steps = HasSteps(out->steps); }

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

std::vector<HeartbeatRun> RunsOf(const std::vector<Heartbeat>& beats) {
  std::vector<HeartbeatRun> runs;
  for (const Heartbeat& beat : beats) {
    const Heartbeat* before = runs.empty() ? nullptr : &runs.back().last;
    if (before != nullptr && before->origin == beat.origin && !before->goodbye &&
        beat.promise_ns - before->promise_ns <= before->idle_ns) {
      runs.back().last = beat;
    } else {
      runs.push_back({beat.promise_ns, beat});
    }
  }
  return runs;
}

RowView::RowView(const RowTable& of)
    : origin(of.origin),
      schema(of.schema),
      times(of.times),
      sequences(of.sequences),
      steps(of.steps),
      modes(of.modes),
      columns(of.columns),
      values(of.values.begin(), of.values.end()) {}

bool TimesRise(std::span<const int64_t> times) {
  return std::adjacent_find(times.begin(), times.end(),
                            [](int64_t a, int64_t b) { return a >= b; }) == times.end();
}

void ReadColumn(const RowView& table, size_t column, bool rising, SeriesRows* out) {
  Clear(out);
  AppendRuns(table, column, rising, {}, out);
  SetHasSteps(out);
}

Status SeriesMerger::Prepare() {
  for (size_t t = 0; t < tables_.size(); ++t) {
    const RowView& table = tables_[t];
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set_->Of(*table.schema));
    columns_.resize(set_->all().size());
    rising_.push_back(TimesRise(table.times));
    steps_.push_back(HasSteps(table.steps));
    // Both column lists are in ascending order.
    size_t at = 0;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      while (at < wanted->columns.size() && wanted->columns[at] < table.columns[i]) ++at;
      if (at == wanted->columns.size() || wanted->columns[at] != table.columns[i]) continue;
      const uint32_t series = wanted->series[at];
      if (columns_[series].empty()) series_.push_back(series);
      columns_[series].push_back({t, i});
    }
  }
  return OkStatus();
}

bool SeriesMerger::InTurn(uint32_t series, std::vector<Column>* columns) const {
  *columns = columns_[series];
  const auto times = [this](const Column& column) { return tables_[column.table].times; };
  std::erase_if(*columns, [&](const Column& column) { return times(column).empty(); });
  std::sort(columns->begin(), columns->end(),
            [&](const Column& a, const Column& b) { return times(a).front() < times(b).front(); });
  const auto meet = [&](const Column& a, const Column& b) {
    return times(a).back() >= times(b).front();
  };
  return std::adjacent_find(columns->begin(), columns->end(), meet) == columns->end();
}

std::vector<size_t> SeriesMerger::Mixed() const {
  std::vector<bool> mixed(tables_.size(), false);
  std::vector<Column> columns;
  for (const uint32_t series : series_) {
    if (columns_[series].size() < 2 || InTurn(series, &columns)) continue;
    for (const Column& column : columns) mixed[column.table] = true;
  }
  std::vector<size_t> out;
  for (size_t t = 0; t < mixed.size(); ++t) {
    if (mixed[t]) out.push_back(t);
  }
  return out;
}

void SeriesMerger::ReadMixed(const std::vector<Column>& columns, const RowFilter& range,
                             SeriesRows* out) const {
  struct Row {
    int64_t time;
    const Column* column;
    size_t row;
  };
  std::vector<Row> rows;
  for (const Column& column : columns) {
    const RowView& table = tables_[column.table];
    const std::span<const double> values = table.values[column.column];
    for (size_t row = 0; row < values.size(); ++row) {
      const int64_t time = table.times[row];
      if (time >= range.from_ns && time < range.to_ns && !IsMissing(values[row]))
        rows.push_back({time, &column, row});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [this](const Row& a, const Row& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.column == b.column) return false;
    const RowView& x = tables_[a.column->table];
    const RowView& y = tables_[b.column->table];
    return std::tie(x.origin->source, x.origin->boot, x.sequences[a.row], x.schema->id) <
           std::tie(y.origin->source, y.origin->boot, y.sequences[b.row], y.schema->id);
  });
  for (const Row& row : rows) {
    if (!out->times.empty() && out->times.back() == row.time) continue;
    const RowView& table = tables_[row.column->table];
    out->times.push_back(row.time);
    out->values.push_back(table.values[row.column->column][row.row]);
    out->steps.push_back(table.steps[row.row]);
    out->modes.push_back(table.modes[row.row]);
  }
}

void SeriesMerger::Read(uint32_t series, SeriesRows* out, int64_t from_ns, int64_t to_ns) const {
  Clear(out);
  const RowFilter range = {.from_ns = from_ns, .to_ns = to_ns};
  // When a source changes its schema, its tables do not overlap, so their rows need no sorting.
  std::vector<Column> in_turn;
  if (columns_[series].size() > 1 && !InTurn(series, &in_turn)) {
    ReadMixed(columns_[series], range, out);
  } else {
    for (const Column& column : columns_[series].size() == 1 ? columns_[series] : in_turn)
      AppendRuns(tables_[column.table], column.column, rising_[column.table], range, out);
  }
  SetHasSteps(out);
}

size_t SeriesMerger::Rows(uint32_t series) const {
  size_t rows = 0;
  for (const Column& column : columns_[series]) rows += tables_[column.table].times.size();
  return rows;
}

void SeriesMerger::Prefetch(uint32_t series) const {
  constexpr size_t kLine = 64 / sizeof(double);
  constexpr size_t kMaxPrefetched = 16 * kLine;  // hardware prefetches the rest of a long run
  for (const Column& column : columns_[series]) {
    const std::span<const double> values = tables_[column.table].values[column.column];
    for (size_t i = 0; i < std::min(values.size(), kMaxPrefetched); i += kLine)
      __builtin_prefetch(values.data() + i);
  }
}

size_t SeriesMerger::Append(uint32_t series, const RowFilter& filter, SampleColumn* out) const {
  const size_t before = out->times.size();
  std::vector<Column> in_turn;
  if (columns_[series].size() > 1 && !InTurn(series, &in_turn)) {
    SeriesRows rows;
    ReadMixed(columns_[series], {.from_ns = filter.from_ns, .to_ns = filter.to_ns}, &rows);
    for (size_t i = 0; i < rows.times.size(); ++i) {
      const int64_t step = rows.steps[i];
      if (!filter.Selects(rows.modes[i], step)) continue;
      if (step != kNoStep) {
        out->steps.resize(out->times.size(), kNoStep);
        out->steps.push_back(step);
      }
      out->times.push_back(rows.times[i]);
      out->values.push_back(rows.values[i]);
    }
    return out->times.size() - before;
  }
  for (const Column& column : columns_[series].size() == 1 ? columns_[series] : in_turn) {
    const RowView& table = tables_[column.table];
    const bool steps = steps_[column.table];
    if (filter.mode >= 0 && !steps) continue;
    ForEachRun(table, column.column, rising_[column.table], filter,
               [&](std::span<const double> values, size_t from, size_t to) {
                 if (steps) {
                   out->steps.resize(out->times.size(), kNoStep);
                   AppendPart(table.steps, from, to, &out->steps);
                 }
                 AppendPart(table.times, from, to, &out->times);
                 AppendPart(values, from, to, &out->values);
               });
  }
  return out->times.size() - before;
}

}  // namespace pitwall::history
