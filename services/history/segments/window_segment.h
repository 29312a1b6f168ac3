// A sealed window: one segment of the store, which describes itself, so that a lost catalogue can
// be made again out of it.
//
// Tables by key: "window" (who sent what; which schemas; batches it holds), "schemas" (pages of
// them, each with many), "rows/<origin>/<schema>", "series/<origin>/<schema>" (first and last of
// the series whose first table that is, and finest rollups; only without rows), "metrics"
// (metric_pages.h: rollups, spreads, extents of series, totals of spans), "span-ends",
// "span-metrics", "span-index", "beats", "beat-runs", "steps" (step_index.h). Former ones have
// schemas in "window", "series/…" with rows too, "span-totals", "spread", and rollups of 2 minutes
// in "series/…". Tables of another name are left alone.
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

// Spans that overlap the range, of steps in [from_step, to_step).
struct SpanBounds {
  TimeRange range = {kMinPosition, kMaxPosition};
  int64_t from_step = kNoStep;
  int64_t to_step = kMaxPosition;
};

// A series of a sealed window.
struct StoredSeries {
  uint32_t series = 0;  // of the SeriesSet
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  bool has_steps = false;
  // The finest tier only where the rows are not there, the next only where `metrics` is not.
  TierRows rows;
};

// What a segment shares with others of its store, which outlive it.
struct SharedBySegments {
  SegmentCache* cache = nullptr;
  SchemaPool* schemas = nullptr;
  std::function<void(const Status&)> on_damage;  // of a page that is read; may be empty
};

// Reads one sealed window. Thread-safe.
class WindowSegment {
 public:
  // DataLoss: damaged, or not the file of `facts` (where given).
  static StatusOr<std::shared_ptr<const WindowSegment>> Open(const std::string& path,
                                                             const SegmentMeta* facts,
                                                             const SharedBySegments& shared = {});

  const std::string& path() const { return path_; }
  const SegmentMeta& facts() const { return facts_; }
  const ModeNames& modes() const { return modes_; }
  const std::vector<OriginPtr>& origins() const { return origins_; }
  // Batches that it holds, by their source.
  StatusOr<std::map<OriginKey, SequenceRanges>> ReadSeen() const;
  const std::vector<SharedSchema>& schemas() const { return schemas_; }
  // Of memory, without what is shared.
  size_t bytes() const { return bytes_; }

  // Append tables with the wanted columns and the rows of the range. Without their sequences.
  Status ReadViews(SeriesSet* set, const TimeRange& range, std::vector<RowView>* out) const;
  // Adds the sequences to a view of this segment.
  Status AddSequences(RowView* view) const;
  // The same as ReadViews as tables with everything. `keep`: in the cache, as what is asked for
  // again.
  Status ReadRows(SeriesSet* set, const TimeRange& range, std::vector<RowTable>* out,
                  bool keep = true) const;
  // Tables of rows: which series a source sent when. Nothing is read or decoded for it.
  struct RowsTable {
    OriginPtr origin;
    SharedSchema schema;
    int64_t first_ns = 0;
    int64_t last_ns = 0;
  };
  std::vector<RowsTable> RowsTables() const;
  // The table of that number: with all columns; without values.
  StatusOr<RowTable> ReadWhole(size_t table) const;
  StatusOr<RowTable> ReadTimes(size_t table) const {
    return ReadTable(rows_[table], {}, kAllTimes, true);
  }
  // Of one whose `metrics` do not tell them, or without rows.
  Status ReadSeries(SeriesSet* set, std::vector<StoredSeries>* out) const;
  // At least those within the bounds.
  Status ReadSpans(const SpanBounds& bounds, SpanList* out, bool keep = true) const;
  // Totals of all spans by origin, kind and name; false: none are told here.
  StatusOr<bool> ReadTotals(const std::function<void(const Origin&, OperatorTotal)>& take) const;
  Status ReadHeartbeats(std::vector<Heartbeat>* out) const;
  // The same as runs: a few rows where there are thousands of beats.
  Status ReadHeartbeatRuns(std::vector<HeartbeatRun>* out) const;
  // Of one without `metrics`.
  StatusOr<Spreads> ReadSpreads() const;
  Status CheckAll() const { return reader_->CheckAll(); }

 private:
  // A table of an origin and a schema.
  struct Place {
    size_t table;
    size_t origin;
    size_t schema;
  };
  // A table of the file while it is read: decoded when it is first needed. Private to
  // window_segment.cc.
  class OpenTable;
  static constexpr size_t kNoTable = SIZE_MAX;

  WindowSegment() = default;
  // `with_pages`: with facts of pages, which a catalogue has as well.
  Status ReadHead(bool with_pages);
  Status PlaceTables();
  Status ReadPageFacts();
  StatusOr<std::string> HeadText() const;
  // Origins of the head; sequences go into `seen` where it is not null.
  void ReadOrigins(BinaryReader& in, std::vector<OriginPtr>* origins,
                   std::map<OriginKey, SequenceRanges>* seen) const;
  Status ReadSchemas(BinaryReader& in);
  struct SchemaPage;
  // Out of that page, which is read where it is not yet.
  StatusOr<SharedSchema> ReadSchema(uint64_t id, const SchemaPool::Saved& saved, size_t from,
                                    SchemaPage* page) const;
  // Of former versions: of the pool where that has it.
  SharedSchema ReadFormerSchema(BinaryReader& in) const;
  Status Damaged(std::string_view what) const;
  // A table that is one of its kind; null: there is none.
  StatusOr<store::TablePtr> TableAt(size_t number) const;
  StatusOr<RowTable> ReadTable(const Place& place, const std::vector<uint32_t>& columns,
                               const TimeRange& range, bool keep) const;
  // Tables with wanted columns that have rows in the range, with their numbers.
  Status ForEachWanted(
      SeriesSet* set, const TimeRange& range,
      const std::function<Status(size_t place, const std::vector<uint32_t>& columns)>& take) const;
  StatusOr<DecodedColumnPtr> ReadColumn(OpenTable* table, size_t column, bool keep) const;
  // The times of a table of rows.
  StatusOr<DecodedColumnPtr> ReadRowTimes(const Place& place, bool keep) const;
  StatusOr<const OriginPtr*> OriginAt(int64_t index) const;
  Status CheckModes(std::span<const int64_t> modes) const;
  // The times of rows that tell where spans of a kind end: private to window_spans.cc.
  class SpanEnds;
  // Which groups of spans may hold some of those.
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
  bool usual_lengths_ = false;  // lengths of spans are distances to what was expected
};

}  // namespace pitwall::history
