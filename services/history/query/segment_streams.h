// Schemas of a sealed window's sources over time, and the heartbeats of these sources. Both
// determine where series end. The data is computed once per open segment and cached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "services/base/status.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

struct SegmentStreams {
  std::vector<RowsTable> tables;  // grouped by origin and by stream
  std::vector<size_t> numbers;    // by table: its number in the segment
  std::vector<size_t> ends;       // end of each stream, as an index into `tables`
  std::vector<HeartbeatRun> beats;
  size_t bytes() const;
};
using SegmentStreamsPtr = std::shared_ptr<const SegmentStreams>;

// Returns DataLoss if the segment is damaged or missing.
StatusOr<SegmentStreamsPtr> StreamsOf(const HistoryStore& store, const SegmentMeta& facts);

}  // namespace pitwall::history
