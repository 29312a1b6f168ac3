// Content of one window of a job: rows of samples, spans, and positions of sources.
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

// Modes of rows as numbers; 0: no mode.
class ModeNames {
 public:
  int64_t Of(std::string_view name);
  int64_t Find(std::string_view name) const;  // -1: unknown
  const std::string& name(int64_t mode) const { return names_[static_cast<size_t>(mode)]; }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_ = {""};
};

// Rows of one origin with one schema; a subset of its columns.
struct RowTable {
  OriginPtr origin;
  SharedSchema schema{Schema()};
  std::vector<int64_t> times;
  std::vector<int64_t> sequences;
  std::vector<int64_t> steps;               // kNoStep: no step
  std::vector<int64_t> modes;               // numbers of the window's ModeNames
  std::vector<uint32_t> columns;            // columns of the schema
  std::vector<std::vector<double>> values;  // by `columns`, each of the size of `times`

  // Sorts rows by (time, sequence); rows of one batch keep their order.
  void Sort();
  // Appends the rows of another part of the same origin, schema, and columns.
  void Append(const RowTable& other);
};

// View of some rows of one origin with one schema. Columns belong to `owners`, or to a table that
// outlives the view.
struct RowView {
  RowView(OriginPtr from, SharedSchema of) : origin(std::move(from)), schema(std::move(of)) {}
  explicit RowView(const RowTable& table);

  OriginPtr origin;
  SharedSchema schema;
  std::span<const int64_t> times;
  std::span<const int64_t> sequences;  // empty: not read
  std::span<const int64_t> steps;
  std::span<const int64_t> modes;
  std::span<const uint32_t> columns;
  std::vector<std::span<const double>> values;  // by `columns`
  size_t table = SIZE_MAX;                      // number in the segment, if it comes from one
  size_t first_row = 0;                         // in that table
  std::vector<std::shared_ptr<const void>> owners;
};

// A batch's promise that no data of its source at or before that time follows.
struct Heartbeat {
  OriginPtr origin;
  int64_t promise_ns = 0;
  int64_t sequence = 0;
  int64_t idle_ns = 0;  // silence after which its series end
  bool goodbye = false;
};

// Heartbeats of one boot without a silence or a goodbye in between: only the last may end series.
struct HeartbeatRun {
  int64_t first_ns = 0;  // promise of the first
  Heartbeat last;
};
// `beats`: grouped by origin, each sorted by (promise, sequence).
std::vector<HeartbeatRun> RunsOf(const std::vector<Heartbeat>& beats);

// One series of a window, over all origins: of two values at one time, the one with the lower
// (source, boot ID, sequence) counts; missing values are ignored.
struct SeriesRows {
  std::vector<int64_t> times_ns;  // strictly ascending
  std::vector<double> values;
  std::vector<int64_t> steps;
  std::vector<int64_t> modes;
  bool has_steps = false;
};

// Returns whether the times are strictly increasing.
bool TimesRise(std::span<const int64_t> times);

// Replaces *out by a column of a sorted table that alone contains its series. `rising`: TimesRise.
void ReadColumn(const RowView& table, size_t column, bool rising, SeriesRows* out);

// Selects rows of a series.
struct RowFilter {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
  int64_t mode = -1;            // number of the window's ModeNames; -1: any, with or without a step
  int64_t from_step = kNoStep;  // requires a mode
  int64_t to_step = kMaxPosition;
};

// Merges the series of tables that were read with `set`, one after another.
class SeriesMerger {
 public:
  // Tables must be sorted and outlive the merger.
  SeriesMerger(const std::vector<RowView>& tables, SeriesSet* set) : tables_(tables), set_(set) {}
  // Call first. Errors: those of SeriesSet::Of.
  Status Prepare();
  // Tables that share a series with another one at the same time: their sequences are needed, and
  // must be added before Read.
  std::vector<size_t> Mixed() const;
  // Series with a column here, as indexes into set->all(), in unspecified order.
  const std::vector<uint32_t>& series() const { return series_; }
  // Replaces *out by rows with times in the range.
  void Read(uint32_t series, SeriesRows* out, int64_t from_ns = INT64_MIN,
            int64_t to_ns = INT64_MAX) const;
  // Upper bound for its rows.
  size_t Rows(uint32_t series) const;
  // Prefetches its values, which have an address of their own.
  void Prefetch(uint32_t series) const;
  // Appends rows to the columns; returns their number. Steps are appended only up to the last row
  // of a table with steps.
  size_t Append(uint32_t series, const RowFilter& filter, SampleColumn* out) const;

 private:
  struct Column {
    size_t table;
    size_t column;
  };
  // Reads all rows of tables that have the series at the same time, in order.
  void ReadMixed(const std::vector<Column>& columns, const RowFilter& range, SeriesRows* out) const;
  // False: they have rows at the same time. Otherwise sorts them by time.
  bool InTurn(uint32_t series, std::vector<Column>* columns) const;

  const std::vector<RowView>& tables_;
  std::vector<bool> rising_;  // by table: its times are strictly increasing
  std::vector<bool> steps_;   // by table: some row has a step
  SeriesSet* const set_;
  std::vector<uint32_t> series_;
  std::vector<std::vector<Column>> columns_;  // by series of the set
};

}  // namespace pitwall::history
