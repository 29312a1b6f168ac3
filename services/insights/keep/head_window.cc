#include "services/insights/keep/head_window.h"

#include <algorithm>

#include "services/insights/keep/node_means.h"
#include "services/model/value.h"

namespace pitwall::insights {

void HeadWindow::AddRows(const OriginPtr& origin, const SharedSchema& schema, const Frame& frame,
                         size_t from, size_t to, uint64_t sequence) {
  std::unique_ptr<Table>& table = index_[{origin.get(), schema->id}];
  if (table == nullptr) {
    table = std::make_unique<Table>(Table{origin, schema, {}, {}, {}, {}, {}});
    tables_.push_back(table.get());
    bytes_ += sizeof(Table) + 256;
  }
  const size_t rows = to - from;
  const size_t columns = schema->series.size();
  const auto at = [](auto& column, size_t i) { return column.begin() + static_cast<int64_t>(i); };
  table->times.insert(table->times.end(), at(frame.times_ns, from), at(frame.times_ns, to));
  table->sequences.insert(table->sequences.end(), rows, static_cast<int64_t>(sequence));
  if (frame.steps.empty()) {
    table->steps.insert(table->steps.end(), rows, kNoStep);
  } else {
    table->steps.insert(table->steps.end(), at(frame.steps, from), at(frame.steps, to));
  }
  table->modes.insert(table->modes.end(), rows, modes_.Of(frame.mode));
  const auto cells = frame.values.subspan(from * columns, rows * columns);
  table->cells.insert(table->cells.end(), cells.begin(), cells.end());
  if (!IsMade(*schema)) {
    samples_ += static_cast<uint64_t>(
        std::count_if(cells.begin(), cells.end(), [](double v) { return !IsMissing(v); }));
  }
  bytes_ += rows * 32 + cells.size() * sizeof(double);
}

void HeadWindow::AddSpan(const OriginPtr& origin, const Span& span, uint64_t sequence) {
  spans_.push_back({origin, static_cast<int64_t>(sequence), span});
  bytes_ += sizeof(KeptSpan) + span.name.size() + span.mode.size();
  least_start_ns_ = std::min(least_start_ns_, span.start_ns);
}

void HeadWindow::AddBeat(Beat beat) {
  beats_.push_back(std::move(beat));
  bytes_ += sizeof(Beat);
}

Status HeadWindow::Read(SeriesSet* set, std::vector<RowTable>* out) const {
  for (const Table* table : tables_) {
    ASSIGN_OR_RETURN(const WantedColumns* wanted, set->Of(*table->schema));
    if (wanted->columns.empty()) continue;
    RowTable rows;
    rows.origin = table->origin;
    rows.schema = table->schema;
    rows.times = table->times;
    rows.sequences = table->sequences;
    rows.steps = table->steps;
    rows.modes = table->modes;
    rows.columns = wanted->columns;
    rows.values.resize(wanted->columns.size());
    const size_t width = table->schema->series.size();
    const size_t count = table->times.size();
    for (std::vector<double>& column : rows.values) column.resize(count);
    // Tiles of columns, so that each line of the cache is used for all of its values.
    constexpr size_t kTile = 16;
    for (size_t first = 0; first < wanted->columns.size(); first += kTile) {
      const size_t last = std::min(first + kTile, wanted->columns.size());
      for (size_t row = 0; row < count; ++row) {
        const double* cells = table->cells.data() + row * width;
        for (size_t c = first; c < last; ++c) rows.values[c][row] = cells[wanted->columns[c]];
      }
    }
    rows.Sort();
    out->push_back(std::move(rows));
  }
  return OkStatus();
}

}  // namespace pitwall::insights
