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

// Modes of rows as numbers; 0: none.
class ModeNames {
 public:
  int64_t Of(std::string_view name);
  int64_t Find(std::string_view name) const;  // -1: not there
  const std::string& name(int64_t mode) const { return names_[static_cast<size_t>(mode)]; }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_ = {""};
};

// Rows of one origin with one schema, some columns of them.
struct RowTable {
  OriginPtr origin;
  SharedSchema schema{Schema()};
  std::vector<int64_t> times;
  std::vector<int64_t> sequences;
  std::vector<int64_t> steps;               // kNoStep where there is none
  std::vector<int64_t> modes;               // of the window's ModeNames
  std::vector<uint32_t> columns;            // of the schema
  std::vector<std::vector<double>> values;  // by `columns`, as long as times

  // Puts rows in the order of (time, sequence); those of one batch keep theirs.
  void Sort();
  // Appends the rows of another part of the same origin, schema and columns.
  void Append(const RowTable& other);
};

// Some rows of one origin with one schema as a question reads them. Columns belong to `owners`, or
// to a table that outlives the view.
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
  size_t table = SIZE_MAX;                      // number in the segment, where it is of one
  size_t first_row = 0;                         // in that table
  std::vector<std::shared_ptr<const void>> owners;
};

// A batch said that nothing of its source at or before the promise follows.
struct Heartbeat {
  OriginPtr origin;
  int64_t promise_ns = 0;
  int64_t sequence = 0;
  int64_t idle_ns = 0;  // after a silence so long its series have ended
  bool goodbye = false;
};

// Heartbeats of one boot without a silence or a goodbye between them: only the last may be an end.
struct HeartbeatRun {
  int64_t first_ns = 0;  // promise of the first
  Heartbeat last;
};
// Of beats by origin, each sorted by (promise, sequence).
std::vector<HeartbeatRun> RunsOf(const std::vector<Heartbeat>& beats);

// One series of a window, all origins together: of two values at one time that of the lesser
// (source, boot id, sequence) counts; missing values are left out.
struct SeriesRows {
  std::vector<int64_t> times_ns;  // strictly ascending
  std::vector<double> values;
  std::vector<int64_t> steps;
  std::vector<int64_t> modes;
  bool has_steps = false;
};

// Replaces *out by a column of a sorted table that alone has its series. `rising`: whether times of
// the table rise strictly.
bool TimesRise(std::span<const int64_t> times);
void ReadColumn(const RowView& table, size_t column, bool rising, SeriesRows* out);

// Which rows of a series are wanted.
struct RowFilter {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
  int64_t mode = -1;            // of the window's ModeNames; -1: any, with or without a step
  int64_t from_step = kNoStep;  // with a mode
  int64_t to_step = kMaxPosition;
};

// The series of tables that were read with `set`, one after another.
class SeriesMerger {
 public:
  // Tables must outlive the merger and be sorted.
  SeriesMerger(const std::vector<RowView>& tables, SeriesSet* set) : tables_(tables), set_(set) {}
  // OK, or what SeriesSet::Of says. Before the rest.
  Status Prepare();
  // Tables with a series that another one has at the same time: their sequences decide, and must be
  // there before Read.
  std::vector<size_t> Mixed() const;
  // Series that have a column here, as indexes into set->all(), in no order that counts.
  const std::vector<uint32_t>& series() const { return series_; }
  // Replaces *out: rows with times in the range.
  void Read(uint32_t series, SeriesRows* out, int64_t from_ns = INT64_MIN,
            int64_t to_ns = INT64_MAX) const;
  // At least as many as it has rows.
  size_t Rows(uint32_t series) const;
  // Its values will be read soon: each is at a place of its own, and waited for otherwise.
  void Prefetch(uint32_t series) const;
  // Appends rows to the columns; returns how many. Steps only up to the last row of a table with
  // steps: those after it have none.
  size_t Append(uint32_t series, const RowFilter& filter, SampleColumn* out) const;

 private:
  struct Column {
    size_t table;
    size_t column;
  };
  // All rows of tables that have the series at the same time, in their order.
  void ReadMixed(const std::vector<Column>& columns, const RowFilter& range, SeriesRows* out) const;
  // False: they have rows at the same time. Else in the order of time.
  bool InTurn(uint32_t series, std::vector<Column>* columns) const;

  const std::vector<RowView>& tables_;
  std::vector<bool> rising_;  // by table: its times rise strictly
  std::vector<bool> steps_;   // by table: some row has one
  SeriesSet* const set_;
  std::vector<uint32_t> series_;
  std::vector<std::vector<Column>> columns_;  // by series of the set
};

}  // namespace pitwall::history
