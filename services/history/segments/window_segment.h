// A sealed window: one self-describing segment of the store, so that a lost catalog can be rebuilt
// from segments.
//
// Tables by key: "window" (sources, schemas, and batches), "schemas" (pages of many schemas each),
// "rows/<origin>/<schema>", "series/<origin>/<schema>" (first and last times and finest rollups of
// the series that occur first in this table; only if the segment has no rows), "metrics"
// (metric_pages.h: rollups, spreads, extents of series, totals of spans), "span-ends",
// "span-metrics", "span-index", "beats", "beat-runs", "steps" (step_index.h). Older segments have
// schemas in "window", "series/…" even with rows, "span-totals", "spread", and 2-minute rollups in
// "series/…". Unknown tables are ignored.
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

// Bounds that select the spans that overlap the range and have steps in [from_step, to_step).
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
  // Rollups of the series. The finest tier is present only if the segment has no rows, and the next
  // tier only if it has no `metrics`.
  TierRows rows;
};

// State that a segment shares with other segments of its store. The state must outlive the segment.
struct SharedBySegments {
  SegmentCache* cache = nullptr;
  SchemaPool* schemas = nullptr;
  std::function<void(const Status&)> on_damage;  // called if a read finds damage
};

// Reader of one sealed window. Thread-safe.
class WindowSegment {
 public:
  // Opens a segment. Returns DataLoss if the file is damaged or does not match `facts`, unless
  // `facts` is null.
  static StatusOr<std::shared_ptr<const WindowSegment>> Open(const std::string& path,
                                                             const SegmentMeta* facts,
                                                             const SharedBySegments& shared = {});

  const std::string& path() const { return path_; }
  const SegmentMeta& facts() const { return facts_; }
  const ModeNames& modes() const { return modes_; }
  const std::vector<OriginPtr>& origins() const { return origins_; }
  // Reads the sequence numbers of the batches in the segment, by source.
  StatusOr<std::map<OriginKey, SequenceRanges>> ReadSeen() const;
  const std::vector<SharedSchema>& schemas() const { return schemas_; }
  // Returns the memory used, excluding shared state.
  size_t bytes() const { return bytes_; }

  // Appends tables with the selected columns and the rows in the range, without sequence numbers.
  Status ReadViews(SeriesSet* set, const TimeRange& range, std::vector<RowView>* out) const;
  // Adds the sequence numbers to a view of this segment.
  Status AddSequences(RowView* view) const;
  // Like ReadViews, but returns tables with all fields. `keep` determines whether the decoded
  // columns are cached.
  Status ReadRows(SeriesSet* set, const TimeRange& range, std::vector<RowTable>* out,
                  bool keep = true) const;
  // Description of a row table, which contains the series that a source sent over time. It is
  // available without reading the table.
  struct RowsTable {
    OriginPtr origin;
    SharedSchema schema;
    int64_t first_ns = 0;
    int64_t last_ns = 0;
  };
  std::vector<RowsTable> RowsTables() const;
  // Reads a table by number, with all columns (ReadWhole) or without values (ReadTimes).
  StatusOr<RowTable> ReadWhole(size_t table) const;
  StatusOr<RowTable> ReadTimes(size_t table) const {
    return ReadTable(rows_[table], {}, kAllTimes, true);
  }
  // Reads series. For segments that have no rows or whose `metrics` do not list series.
  Status ReadSeries(SeriesSet* set, std::vector<StoredSeries>* out) const;
  // Reads all spans within the bounds. The result may contain other spans as well.
  Status ReadSpans(const SpanBounds& bounds, SpanList* out, bool keep = true) const;
  // Reads totals of all spans by origin, kind, and name. Returns false if the segment has no
  // totals.
  StatusOr<bool> ReadTotals(const std::function<void(const Origin&, OperatorTotal)>& take) const;
  Status ReadHeartbeats(std::vector<Heartbeat>* out) const;
  // Reads the same heartbeats in the form of runs, which take a few rows instead of thousands.
  Status ReadHeartbeatRuns(std::vector<HeartbeatRun>* out) const;
  // Reads spreads. For segments without `metrics`.
  StatusOr<Spreads> ReadSpreads() const;
  Status CheckAll() const { return reader_->CheckAll(); }

 private:
  // Table with the rows of one origin and schema.
  struct Place {
    size_t table;
    size_t origin;
    size_t schema;
  };
  // An open table, decoded on first use. Private to window_segment.cc.
  class OpenTable;
  static constexpr size_t kNoTable = SIZE_MAX;

  WindowSegment() = default;
  // Reads the description. `with_pages` also reads page locations, which the catalog contains as
  // well.
  Status ReadHead(bool with_pages);
  Status PlaceTables();
  Status ReadPageFacts();
  StatusOr<std::string> HeadText() const;
  // Reads the origins in the description. If `seen` is not null, the sequence numbers are stored in
  // it.
  void ReadOrigins(BinaryReader& in, std::vector<OriginPtr>* origins,
                   std::map<OriginKey, SequenceRanges>* seen) const;
  Status ReadSchemas(BinaryReader& in);
  struct SchemaPage;
  // Reads a schema from its page. The page is loaded on first use.
  StatusOr<SharedSchema> ReadSchema(uint64_t id, const SchemaPool::Saved& saved, size_t from,
                                    SchemaPage* page) const;
  // Reads a schema of an older version. If the pool contains the schema, the pool's copy is used.
  SharedSchema ReadFormerSchema(BinaryReader& in) const;
  Status Damaged(std::string_view what) const;
  // Returns the table with the number, or nullptr if the number is kNoTable.
  StatusOr<store::TablePtr> TableAt(size_t number) const;
  StatusOr<RowTable> ReadTable(const Place& place, const std::vector<uint32_t>& columns,
                               const TimeRange& range, bool keep) const;
  // Visits the numbers of the tables that have selected columns and rows in the range.
  Status ForEachWanted(
      SeriesSet* set, const TimeRange& range,
      const std::function<Status(size_t place, const std::vector<uint32_t>& columns)>& take) const;
  StatusOr<DecodedColumnPtr> ReadColumn(OpenTable* table, size_t column, bool keep) const;
  // Reads the times of a row table.
  StatusOr<DecodedColumnPtr> ReadRowTimes(const Place& place, bool keep) const;
  StatusOr<const OriginPtr*> OriginAt(int64_t index) const;
  Status CheckModes(std::span<const int64_t> modes) const;
  // Row times at which spans of a kind end. Private to window_spans.cc.
  class SpanEnds;
  // Returns, by group, whether the group may contain matching spans.
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
  // Numbers of tables that occur at most once.
  size_t head_ = kNoTable, schema_pages_ = kNoTable, metrics_ = kNoTable, steps_ = kNoTable;
  size_t spread_ = kNoTable, beats_ = kNoTable, beat_runs_ = kNoTable;
  size_t spans_ = kNoTable, span_metrics_ = kNoTable, span_index_ = kNoTable;
  size_t span_totals_ = kNoTable;
  // Whether span lengths are stored as differences from expected values.
  bool usual_lengths_ = false;
};

}  // namespace pitwall::history
