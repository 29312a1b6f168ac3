// Sealed window, stored as one self-describing segment so that a lost catalog can be rebuilt from
// segments.
//
// Tables by key: "window" (sources, schemas, and batches), "schemas" (pages of many schemas each),
// "rows/<origin>/<schema>", "series/<origin>/<schema>" (first and last times and finest rollups of
// the series that first occur in this table; only if the segment has no rows), "metrics"
// (metric_pages.h: rollups, spreads, extents of series, totals of spans), "span-ends",
// "span-metrics", "span-index", "beats", "beat-runs", "steps" (step_index.h). Unknown tables are
// ignored. docs/history-format.md describes the contents of each table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/store/segment_reader.h"
#include "services/adapters/store/segment_writer.h"
#include "services/history/history.h"
#include "services/history/segments/row_tables.h"
#include "services/history/segments/segment_cache.h"
#include "services/history/segments/segment_meta.h"
#include "services/history/segments/segment_tables.h"
#include "services/history/segments/window_description.h"
#include "services/history/windows/schema_pool.h"
#include "services/history/windows/window_rows.h"
#include "services/history/windows/window_summary.h"

namespace pitwall::history {

// Bounds that select spans that overlap the range and whose steps are in [from_step, to_step).
struct SpanBounds {
  TimeRange range = {kMinPosition, kMaxPosition};
  int64_t from_step = kNoStep;
  int64_t to_step = kMaxPosition;
};

// Series in a sealed window without rows.
struct StoredSeries {
  uint32_t series = 0;            // index in the SeriesSet
  std::vector<RollupRow> finest;  // rollups of the finest tier
};

// State that a segment shares with other segments of its store. The state must outlive the segment.
struct SharedBySegments {
  SegmentCache* cache = nullptr;
  SchemaPool* schemas = nullptr;
  std::function<void(const Status&)> on_damage;  // called if a read detects damage
};

// Reader for one sealed window. Thread-safe.
class WindowSegment {
 public:
  // Opens a segment. Returns DataLoss if the file is damaged or does not match `facts`, unless
  // `facts` is null.
  static StatusOr<std::shared_ptr<const WindowSegment>> Open(const std::string& path,
                                                             const SegmentMeta* facts,
                                                             const SharedBySegments& shared = {});

  const std::string& path() const { return tables_.path(); }
  const SegmentMeta& facts() const { return window_.facts(); }
  const ModeNames& modes() const { return window_.modes(); }
  const std::vector<OriginPtr>& origins() const { return window_.origins(); }
  // Reads the sequence numbers of the batches in the segment, by source.
  StatusOr<std::map<OriginKey, SequenceRanges>> ReadSeen() const {
    return ReadSeenBatches(tables_);
  }
  const std::vector<SharedSchema>& schemas() const { return window_.schemas(); }
  // Returns the memory used, excluding shared state.
  size_t bytes() const { return bytes_; }

  const RowTables& rows() const { return rows_; }
  // Reads the finest rollups. Only segments without rows have them.
  Status ReadSeries(SeriesSet* set, std::vector<StoredSeries>* out) const;
  // Reads all spans within the bounds. The result may include other spans.
  Status ReadSpans(const SpanBounds& bounds, SpanList* out, bool keep = true) const;
  Status ReadHeartbeats(std::vector<Heartbeat>* out) const;
  // Reads the heartbeats in the form of runs, which take a few rows instead of thousands.
  Status ReadHeartbeatRuns(std::vector<HeartbeatRun>* out) const;
  Status CheckAll() const { return tables_.reader().CheckAll(); }

 private:
  WindowSegment(const std::string& path, int64_t window_ns, SegmentCache* cache)
      : tables_(path, window_ns), window_(&tables_), rows_(&tables_, &window_, cache) {}

  SegmentTables tables_;
  WindowDescription window_;
  const RowTables rows_;
  size_t bytes_ = 0;
};

}  // namespace pitwall::history
