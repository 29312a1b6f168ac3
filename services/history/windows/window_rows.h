// Contents of one window of a job: sample rows, spans, and source positions.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/clock.h"
#include "services/history/history.h"
#include "services/history/windows/sequence_ranges.h"
#include "services/history/windows/series_set.h"
#include "services/history/windows/span_list.h"
#include "services/model/position.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

inline constexpr int64_t kWindowNs = 600 * kNanosPerSecond;
inline constexpr int64_t WindowOf(int64_t time_ns) { return FloorTo(time_ns, kWindowNs); }

// Mapping between mode names and the mode numbers in rows. 0 means no mode.
class ModeNames {
 public:
  int64_t Of(std::string_view name);
  int64_t Find(std::string_view name) const;  // -1 if unknown
  const std::string& name(int64_t mode) const { return names_[static_cast<size_t>(mode)]; }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_ = {""};
};

// Rows from one origin with one schema, limited to a subset of the schema's columns.
struct RowTable {
  OriginPtr origin;
  SharedSchema schema{Schema()};
  std::vector<int64_t> times;
  std::vector<int64_t> sequences;
  std::vector<int64_t> steps;               // kNoStep for rows without a step
  std::vector<int64_t> modes;               // mode numbers of the window's ModeNames
  std::vector<uint32_t> columns;            // column numbers in the schema
  std::vector<std::vector<double>> values;  // parallel to `columns`; each has the size of `times`

  // Sorts rows by (time, sequence). Rows of one batch keep their order.
  void Sort();
  // Appends rows with the same origin, schema, and columns.
  void Append(const RowTable& other);
};

// View of some rows from one origin with one schema. The columns belong to `owners` or to a table
// that outlives the view.
struct RowView {
  RowView(OriginPtr from, SharedSchema of) : origin(std::move(from)), schema(std::move(of)) {}
  explicit RowView(const RowTable& table);

  OriginPtr origin;
  SharedSchema schema;
  std::span<const int64_t> times;
  std::span<const int64_t> sequences;  // empty if not read
  std::span<const int64_t> steps;
  std::span<const int64_t> modes;
  std::span<const uint32_t> columns;
  std::vector<std::span<const double>> values;  // parallel to `columns`
  size_t table = SIZE_MAX;                      // table number if the rows come from a segment
  size_t first_row = 0;                         // index of the first row in that table
  std::vector<std::shared_ptr<const void>> owners;
};

// A source's promise, sent in a batch, to send no more data at or before promise_ns.
struct Heartbeat {
  OriginPtr origin;
  int64_t promise_ns = 0;
  int64_t sequence = 0;
  int64_t idle_ns = 0;  // duration of silence after which the source's series end
  bool goodbye = false;
};

// Consecutive heartbeats from one boot without silence or a goodbye in between. Only the last
// heartbeat can end series.
struct HeartbeatRun {
  int64_t first_ns = 0;  // promise of the first heartbeat
  Heartbeat last;
};
// Combines heartbeats into runs. `beats` must be grouped by origin and sorted by (promise,
// sequence) within an origin.
std::vector<HeartbeatRun> RunsOf(const std::vector<Heartbeat>& beats);

// Rows of one series in a window, across all origins. If two values have the same time, the value
// with the lower (source, boot ID, sequence) is used. Missing values are ignored.
struct SeriesRows {
  std::vector<int64_t> times;  // strictly ascending
  std::vector<double> values;
  std::vector<int64_t> steps;
  std::vector<int64_t> modes;
  bool has_steps = false;
};

// Returns whether the times are strictly increasing.
bool TimesRise(std::span<const int64_t> times);

// Replaces *out with the rows of a column in a sorted table. No other column may contain the
// series. `rising` is the return value of TimesRise.
void ReadColumn(const RowView& table, size_t column, bool rising, SeriesRows* out);

// Selection of rows of a series.
struct RowFilter {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
  int64_t mode = -1;            // mode number; -1 selects all rows, with or without a step
  int64_t from_step = kNoStep;  // requires a mode
  int64_t to_step = kMaxPosition;
  // Returns whether the filter selects a row in its time range.
  bool Selects(int64_t row_mode, int64_t step) const {
    return mode < 0 || (row_mode == mode && step != kNoStep && step >= from_step && step < to_step);
  }
};

// Merger for the series of tables that were read with the same `set`. Series are read one at a
// time.
class SeriesMerger {
 public:
  // `tables` must be sorted and must outlive the merger.
  SeriesMerger(const std::vector<RowView>& tables, SeriesSet* set) : tables_(tables), set_(set) {}
  // Resolves the columns. Call this first. Returns any error from SeriesSet::Of.
  Status Prepare();
  // Returns the tables that share a series with another table at overlapping times. Add their
  // sequence numbers before calling Read.
  std::vector<size_t> Mixed() const;
  // Returns the series that have a column in the tables, as indexes into set->all() in unspecified
  // order.
  const std::vector<uint32_t>& series() const { return series_; }
  // Replaces *out with the series' rows in the time range.
  void Read(uint32_t series, SeriesRows* out, int64_t from_ns = INT64_MIN,
            int64_t to_ns = INT64_MAX) const;
  // Returns an upper bound on the number of rows in the series.
  size_t Rows(uint32_t series) const;
  // Prefetches the series' values. They are stored separately from other columns.
  void Prefetch(uint32_t series) const;
  // Appends rows to the columns and returns their number. Steps are appended only up to the last
  // row from a table with steps.
  size_t Append(uint32_t series, const RowFilter& filter, SampleColumn* out) const;

 private:
  struct Column {
    size_t table;
    size_t column;
  };
  // Merges the rows of all tables that contain the series at overlapping times.
  void ReadMixed(const std::vector<Column>& columns, const RowFilter& range, SeriesRows* out) const;
  // Returns false if the columns' time ranges overlap. Otherwise, sorts the columns by time.
  bool InTurn(uint32_t series, std::vector<Column>* columns) const;

  const std::vector<RowView>& tables_;
  std::vector<bool> rising_;  // by table: whether its times are strictly increasing
  std::vector<bool> steps_;   // by table: whether any row has a step
  SeriesSet* const set_;
  std::vector<uint32_t> series_;
  std::vector<std::vector<Column>> columns_;  // indexed by series of the set
};

}  // namespace pitwall::history
