// Streams for the rows of one rank: a main stream, and wide streams for logged series with labels.
//
// A step's own series and values logged without labels (such as a loss) arrive with every step and
// stay in the narrow main stream. Series with labels may number in the thousands (tensor
// statistics, one series per histogram bucket) and arrive only once in hundreds of steps. They are
// stored in separate streams by metric, so that other steps need no empty cells for them. The
// number of columns per stream is limited so that a schema fits into a record. The number of
// streams is limited so that a reader can keep all their schemas (engine: max_schemas_per_source).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "services/base/text/strings.h"
#include "services/codec/steps/frame_writer.h"
#include "services/codec/steps/series_columns.h"
#include "services/model/telemetry.h"

namespace pitwall::steps {

inline constexpr size_t kMaxWideStreams = 40;
inline constexpr size_t kMaxWideColumns = 1024;

// Owns the data that the frames of the last Write point to. Column numbers are unique across
// streams, and the rows passed to Write use them. Not thread-safe.
class RowStreams {
 public:
  // Uses the stream `main_stream` and the streams starting at `first_wide_stream`.
  RowStreams(uint32_t main_stream, uint32_t first_wide_stream, size_t max_cells,
             size_t cells_per_frame);

  // Returns the main stream's column for the series, and adds the column if it is new.
  uint32_t MainColumn(const Labels& series, SeriesKind kind);
  size_t main_columns() const { return streams_[0]->columns.size(); }
  // Returns the column of a series that MainColumn or AddWide added, or nullopt.
  std::optional<uint32_t> Find(std::string_view metric, const Labels& series) const;
  // Adds a column for the series to a wide stream of its metric. Returns nullopt if all streams are
  // full.
  std::optional<uint32_t> AddWide(std::string_view metric, const Labels& series, SeriesKind kind);

  // Appends the rows to batch->frames, and new or changed schemas to batch->schemas. If
  // `repeat_schemas` is true, also repeats unchanged schemas: the main stream's schema immediately,
  // and a wide stream's schema with its next frame. Returns the number of rows (per stream) dropped
  // because they exceed the limit.
  size_t Write(std::vector<Row> rows, bool repeat_schemas, Batch* batch);

 private:
  struct Stream {
    Stream(uint32_t number, size_t cells_per_frame) : columns(number), writer(cells_per_frame) {}
    SeriesColumns columns;
    FrameWriter writer;
    std::vector<Row> rows;
    bool due = false;  // the schema must be repeated
  };

  size_t WriteStream(Stream* stream, size_t* cells_left, Batch* batch);

  const uint32_t first_wide_stream_;
  // Limit per Write for the main stream, and for all wide streams together.
  const size_t max_cells_;
  const size_t cells_per_frame_;
  std::vector<std::unique_ptr<Stream>> streams_;  // the main stream is first
  // Streams that contain series of the metric, newest last.
  StringMap<std::vector<uint32_t>> by_metric_;
};

}  // namespace pitwall::steps
