// Rollups of a window's series and spreads of its metrics, computed while reading the window's
// tables one at a time. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/history/flush/flush_input.h"
#include "services/history/memtable/packed_chunk.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/segments/segment_builder.h"
#include "services/history/windows/window_summary.h"

namespace pitwall::history {

// Values of series that cannot be added yet. Up to a limit, the values stay in memory. Values
// beyond the limit go to an unnamed file, or stay in memory if the file cannot be written.
class WaitingValues {
 public:
  WaitingValues(std::string path, std::shared_ptr<files::DiskFaults> faults, size_t most_bytes)
      : path_(std::move(path)), faults_(std::move(faults)), most_bytes_(most_bytes) {}
  void Put(uint32_t series, std::span<const double> values);
  bool Has(uint32_t series) const { return waiting_.contains(series); }
  // Removes and returns the values of a pending series.
  StatusOr<std::vector<double>> Take(uint32_t series);
  size_t bytes() const { return bytes_; }  // bytes in memory

 private:
  struct Values {
    std::vector<double> values;  // empty if there are no values or the values are in the file
    int64_t at = 0;
    size_t count = 0;
  };
  bool Move(std::span<const double> values, int64_t* at);

  const std::string path_;
  const std::shared_ptr<files::DiskFaults> faults_;
  const size_t most_bytes_;
  size_t bytes_ = 0;
  absl::flat_hash_map<uint32_t, Values> waiting_;
  std::shared_ptr<MemTableFile> file_;
};

// Spreads with a deterministic addition order. The series of each spread are added in label order,
// regardless of their arrival order.
class SpreadsInOrder {
 public:
  // `order` lists all series in label order.
  SpreadsInOrder(const SeriesSet& set, const std::vector<uint32_t>& order, WaitingValues waiting);
  // Adds all values of a series. Call this once per series.
  Status Add(uint32_t series, std::span<const double> values);
  const Spreads& spreads() const { return spreads_; }

 private:
  struct Group {
    std::vector<uint32_t> series;
    size_t next = 0;
    Spread* spread = nullptr;  // null until the first value
  };
  void AddNext(Group* group, std::span<const double> values);

  const SeriesSet& set_;
  WaitingValues waiting_;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;  // by series: index of its group
  Spreads spreads_;
};

class WindowSeries {
 public:
  // `tables` must be in the same order as later calls to Add. If `fine` is set, the finest rollups
  // are computed too.
  static StatusOr<std::unique_ptr<WindowSeries>> Of(const std::vector<FlushInput::Table>& tables,
                                                    bool fine, const std::string& path,
                                                    std::shared_ptr<files::DiskFaults> faults);
  // Adds all rows of the table.
  Status Add(size_t table, RowTable rows);
  // Writes the summaries. Call this after adding all tables. `totals` covers the window's spans.
  Status Write(const std::vector<FlushInput::Table>& tables,
               const std::optional<std::vector<OperatorTotal>>& totals, SegmentBuilder* w,
               SegmentMeta* facts);

 private:
  // Entry in the series table. Used if the finest tier is kept.
  struct Entry {
    uint32_t place;  // position in label order
    uint32_t column;
    SeriesExtent extent;
    std::string rollups;
  };
  // Tables connected by shared series.
  struct Family {
    size_t last = 0;             // last table of the family
    std::vector<RowTable> held;  // columns that occur in several tables
  };

  explicit WindowSeries(bool fine) : set_({}, SIZE_MAX), fine_(fine) {}
  Status FindSeries(const std::vector<FlushInput::Table>& tables);
  Status Summarize(uint32_t series, const SeriesRows& rows);
  Status AddShared(Family* family);
  Status WriteEntries(size_t table, const FlushInput::Table& of, SegmentBuilder* w);

  SeriesSet set_;
  const bool fine_;
  std::vector<uint32_t> place_;        // position of each series in label order
  std::vector<bool> shared_;           // by series: whether several columns contain it
  std::vector<uint32_t> home_table_;   // by series: first table that contains it
  std::vector<uint32_t> home_column_;  // by series: its column in that table
  std::vector<size_t> family_of_;      // by table: its family
  absl::flat_hash_map<size_t, Family> families_;
  std::vector<uint64_t> home_schema_;  // by series: schema ID
  MetricPagesWriter pages_;
  std::unique_ptr<SpreadsInOrder> spreads_;
  std::vector<std::vector<Entry>> entries_;  // indexed by table
  SeriesRows rows_;                          // scratch buffer
};

}  // namespace pitwall::history
