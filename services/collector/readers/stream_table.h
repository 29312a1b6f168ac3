// Unpublished rows for one of the node's streams.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/collector/readers/series_reader.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// The columns come from a set of readers. If the series change, a new schema starts, and earlier
// rows keep their schema. Buffers are reused, so adding a row does not allocate memory. Owned by
// the sampler thread.
class StreamTable {
 public:
  StreamTable(uint32_t stream, std::vector<std::unique_ptr<SeriesReader>> readers);

  // Reads and appends one row at `time_ns`, which must increase from call to call. Appends nothing
  // until the first series appears.
  void Sample(int64_t time_ns);
  // Replaces the readers, starting with the next Sample.
  void SetReaders(std::vector<std::unique_ptr<SeriesReader>> readers);

  // Appends one frame to `batch` for each schema in use. The frames' spans point into this table
  // and are valid until Clear or Sample. Also appends each schema that differs from `*announced`.
  // If `repeat` is set, always appends the newest schema. Sets `*announced` to the ID of the newest
  // schema.
  void AppendTo(bool repeat, uint64_t* announced, Batch* batch) const;
  // Discards the rows.
  void Clear();
  size_t columns() const { return segments_[used_ - 1].schema.series.size(); }

 private:
  // Rows of one schema.
  struct Segment {
    Schema schema;
    std::vector<int64_t> times;
    std::vector<double> values;
  };

  const uint32_t stream_;
  std::vector<std::unique_ptr<SeriesReader>> readers_;
  std::vector<Segment> segments_;  // the last of the first used_ segments is the current segment
  size_t used_ = 1;
  bool changed_ = false;  // whether the readers were replaced
  bool ever_had_series_ = false;
};

}  // namespace pitwall::collector
