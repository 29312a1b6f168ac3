// The rows of one stream of the node that have been sampled and not yet published.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/collector/readers/series_reader.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Columns come from some readers; a new set of series makes a new schema, and rows sampled before
// keep theirs. Buffers are reused: a row costs no allocation. Owned by the sampler thread.
class StreamTable {
 public:
  StreamTable(uint32_t stream, std::vector<std::unique_ptr<SeriesReader>> readers);

  // Reads and appends one row at `time_ns`, which must grow. Without any series so far it appends
  // nothing.
  void Sample(int64_t time_ns);
  // Other readers from the next Sample on.
  void SetReaders(std::vector<std::unique_ptr<SeriesReader>> readers);

  // Appends one frame per schema in use to `batch`, its spans pointing into this table until Clear
  // or Sample, and its schema where that is not `*announced`, or with `repeat`; then `*announced`
  // is the newest schema's id.
  void AppendTo(bool repeat, uint64_t* announced, Batch* batch) const;
  // Forgets the rows.
  void Clear();
  size_t columns() const { return segments_[used_ - 1].schema.series.size(); }

 private:
  // Rows under one schema.
  struct Segment {
    Schema schema;
    std::vector<int64_t> times;
    std::vector<double> values;
  };

  const uint32_t stream_;
  std::vector<std::unique_ptr<SeriesReader>> readers_;
  std::vector<Segment> segments_;  // the last of the first used_ is the one in use
  size_t used_ = 1;
  bool changed_ = false;  // the readers are others
  bool ever_had_series_ = false;
};

}  // namespace pitwall::collector
