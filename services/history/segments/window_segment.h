// A sealed window: one self-describing segment of the store, so that a lost catalog can be rebuilt
// from segments.
//
// Tables by key: "window" (sources, schemas, and batches), "schemas" (pages of many schemas each),
// "rows/<origin>/<schema>", "series/<origin>/<schema>" (first and last time of the series whose
// first table this is, and finest rollups; only without rows), "metrics" (metric_pages.h: rollups,
// spreads, extents of series, totals of spans), "span-ends", "span-metrics", "span-index", "beats",
// "beat-runs", "steps" (step_index.h). Older segments have schemas in "window", "series/…" with
// rows too, "span-totals", "spread", and rollups of 2 minutes in "series/…". Unknown tables are
// ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/store/segment_reader.h"
#include "services/adapters/store/segment_writer.h"
#include "services/history/history.h"
#include "services/history/segments/segment_cache.h"
#include "services/history/segments/segment_meta.h"
#include "services/history/windows/schema_pool.h"
#include "services/history/windows/window_rows.h"
#include "services/history/windows/window_summary.h"

namespace pitwall::history {

inline constexpr char kSchemasTable[] = "schemas";

inline constexpr TimeRange kAllTimes = {INT64_MIN, INT64_MAX};

// Selects spans that overlap the range and have steps in [from_step, to_step).
struct SpanBounds {
  TimeRange range = {kMinPosition, kMaxPosition};
  int64_t from_step = kNoStep;
  int64_t to_step = kMaxPosition;
};

// A series of a sealed window.
struct StoredSeries {
  uint32_t series = 0;  // index in the SeriesSet
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  bool has_steps = false;
  // Has the finest tier only without rows, and the next one only without `metrics`.
  TierRows rows;
};

// State that a segment shares with others of its store, all of which it must not outlive.
struct SharedBySegments {
  SegmentCache* cache = nullptr;
  SchemaPool* schemas = nullptr;
  std::function<void(const Status&)>
      on_damage;  // called for damage found while reading; may be empty
};

// Reader of one sealed window. Thread-safe.
class WindowSegment {
 public:
  // DataLoss: damaged, or not the file of `facts` (if given).
  static StatusOr<std::shared_ptr<const WindowSegment>> Open(const std::string& path,
                                                             const SegmentMeta* facts,
                                                             const SharedBySegments& shared = {});

  const std::string& path() const { return path_; }
  const SegmentMeta& facts() const { return facts_; }
  const ModeNames& modes() const { return modes_; }
  const std::vector<OriginPtr>& origins() const { return origins_; }
  // Reads the sequences of the batches that it contains, by source.
  StatusOr<std::map<OriginKey, SequenceRanges>> ReadSeen() const;
  const std::vector<SharedSchema>& schemas() const { return schemas_; }
  // Memory, without shared state.
  size_t bytes() const { return bytes_; }

  // Appends tables with the wanted columns and the rows of the range, without their sequences.
  Status ReadViews(SeriesSet* set, const TimeRange& range, std::vector<RowView>* out) const;
  // Adds the sequences to a view of this segment.
  Status AddSequences(RowView* view) const;
  // Like ReadViews, but as tables with all fields. `keep`: cache the decoded columns.
  Status ReadRows(SeriesSet* set, const TimeRange& range, std::vector<RowTable>* out,
                  bool keep = true) const;
  // Tables of rows: the series that a source sent over time. Available without reading.
  struct RowsTable {
    OriginPtr origin;
    SharedSchema schema;
    int64_t first_ns = 0;
    int64_t last_ns = 0;
  };
  std::vector<RowsTable> RowsTables() const;
  // Reads the table with that number: with all columns; without values.
  StatusOr<RowTable> ReadWhole(size_t table) const;
  StatusOr<RowTable> ReadTimes(size_t table) const {
    return ReadTable(rows_[table], {}, kAllTimes, true);
  }
  // For a segment whose `metrics` do not list series, or without rows.
  Status ReadSeries(SeriesSet* set, std::vector<StoredSeries>* out) const;
  // Reads at least the spans within the bounds.
  Status ReadSpans(const SpanBounds& bounds, SpanList* out, bool keep = true) const;
  // Reads totals of all spans by origin, kind, and name; false: the segment has none.
  StatusOr<bool> ReadTotals(const std::function<void(const Origin&, OperatorTotal)>& take) const;
  Status ReadHeartbeats(std::vector<Heartbeat>* out) const;
  // Reads the same heartbeats as runs: a few rows instead of thousands.
  Status ReadHeartbeatRuns(std::vector<HeartbeatRun>* out) const;
  // For a segment without `metrics`.
  StatusOr<Spreads> ReadSpreads() const;
  Status CheckAll() const { return reader_->CheckAll(); }

 private:
  // A table of an origin and a schema.
  struct Place {
    size_t table;
    size_t origin;
    size_t schema;
  };
  // An open table, decoded on first use. Private to window_segment.cc.
  class OpenTable;
  static constexpr size_t kNoTable = SIZE_MAX;

  WindowSegment() = default;
  // `with_pages`: also read page locations, which a catalog has as well.
  Status ReadHead(bool with_pages);
  Status PlaceTables();
  Status ReadPageFacts();
  StatusOr<std::string> HeadText() const;
  // Reads the origins of the head; sequences go into `seen` unless it is null.
  void ReadOrigins(BinaryReader& in, std::vector<OriginPtr>* origins,
                   std::map<OriginKey, SequenceRanges>* seen) const;
  Status ReadSchemas(BinaryReader& in);
  struct SchemaPage;
  // Reads a schema from that page, which is loaded on first use.
  StatusOr<SharedSchema> ReadSchema(uint64_t id, const SchemaPool::Saved& saved, size_t from,
                                    SchemaPage* page) const;
  // Reads a schema of an older version, from the pool if present.
  SharedSchema ReadFormerSchema(BinaryReader& in) const;
  Status Damaged(std::string_view what) const;
  // Returns a table of which there is at most one; null: none.
  StatusOr<store::TablePtr> TableAt(size_t number) const;
  StatusOr<RowTable> ReadTable(const Place& place, const std::vector<uint32_t>& columns,
                               const TimeRange& range, bool keep) const;
  // Visits tables with wanted columns that have rows in the range, with their numbers.
  Status ForEachWanted(
      SeriesSet* set, const TimeRange& range,
      const std::function<Status(size_t place, const std::vector<uint32_t>& columns)>& take) const;
  StatusOr<DecodedColumnPtr> ReadColumn(OpenTable* table, size_t column, bool keep) const;
  // Reads the times of a table of rows.
  StatusOr<DecodedColumnPtr> ReadRowTimes(const Place& place, bool keep) const;
  StatusOr<const OriginPtr*> OriginAt(int64_t index) const;
  Status CheckModes(std::span<const int64_t> modes) const;
  // Times of rows that determine the ends of spans of a kind: private to window_spans.cc.
  class SpanEnds;
  // Returns which groups of spans may contain matches.
  StatusOr<std::vector<bool>> GroupsOf(const SpanBounds& bounds, size_t groups) const;

  std::string path_;
  std::unique_ptr<store::SegmentReader> reader_;
  SegmentMeta facts_;
  SharedBySegments shared_;
  size_t bytes_ = 0;
  ModeNames modes_;
  std::vector<OriginPtr> origins_;
  std::vector<SharedSchema> schemas_;
  std::vector<Place> rows_, series_;
  // Numbers of tables of which there is one.
  size_t head_ = kNoTable, schema_pages_ = kNoTable, metrics_ = kNoTable, steps_ = kNoTable;
  size_t spread_ = kNoTable, beats_ = kNoTable, beat_runs_ = kNoTable;
  size_t spans_ = kNoTable, span_metrics_ = kNoTable, span_index_ = kNoTable;
  size_t span_totals_ = kNoTable;
  bool usual_lengths_ = false;  // lengths of spans are stored as differences from expected values
};

}  // namespace pitwall::history
