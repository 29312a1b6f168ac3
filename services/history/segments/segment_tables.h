// Tables of one segment file, located by their keys.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/adapters/store/segment_reader.h"
#include "services/base/status.h"

namespace pitwall::history {

inline constexpr char kSchemasTable[] = "schemas";

// Tables of one segment file. Thread-safe after Open.
class SegmentTables {
 public:
  // Table with the rows of one origin and schema.
  struct Place {
    size_t table;
    size_t origin;
    size_t schema;
  };
  // Tables that occur at most once.
  enum class Single {
    kHead,
    kSchemas,
    kMetrics,
    kSteps,
    kBeats,
    kBeatRuns,
    kSpans,
    kSpanMetrics,
    kSpanIndex,
  };

  // `window_ns`, the window's start, is included in error messages; 0 if unknown.
  SegmentTables(std::string path, int64_t window_ns);

  // Opens the file and locates its tables. Returns DataLoss if the file is missing, is damaged, has
  // another format version, or if its CRC differs from `footer_crc`, the CRC in the catalog. A null
  // `footer_crc` is not checked.
  Status Open(const uint32_t* footer_crc, std::function<void(const Status&)> on_damage);
  // Sets the window's start after it was read from the file.
  void NoteWindow(int64_t window_ns) { window_ns_ = window_ns; }

  const std::string& path() const { return path_; }
  const store::SegmentReader& reader() const { return *reader_; }
  // Returns the tables "rows/…" and "series/…", in file order.
  const std::vector<Place>& rows() const { return rows_; }
  const std::vector<Place>& series() const { return series_; }
  bool Has(Single table) const { return NumberOf(table) != kNoTable; }
  // Returns the table, or nullptr if the segment does not have it.
  StatusOr<store::TablePtr> At(Single table) const;
  // Appends all rows of consecutive columns, starting at `first`. An absent table has no rows.
  Status ReadInts(Single table, size_t first, std::span<std::vector<int64_t>> columns) const;
  // Returns the text of a group in a table with one text per group. `what` names the table. An
  // absent table or group is reported as damage.
  StatusOr<std::string> ReadText(Single table, size_t group, std::string_view what) const;
  size_t bytes() const;  // memory used
  // Returns DataLoss with the file's path and the window's start.
  Status Damaged(std::string_view what) const;

 private:
  static constexpr size_t kNoTable = SIZE_MAX;
  static constexpr size_t kSingles = static_cast<size_t>(Single::kSpanIndex) + 1;

  size_t NumberOf(Single table) const { return singles_[static_cast<size_t>(table)]; }
  Status Locate();

  const std::string path_;
  int64_t window_ns_;
  std::unique_ptr<store::SegmentReader> reader_;
  std::vector<Place> rows_, series_;
  std::array<size_t, kSingles> singles_;  // numbers of tables, or kNoTable
};

}  // namespace pitwall::history
