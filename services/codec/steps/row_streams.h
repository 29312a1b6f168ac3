// The streams of one rank that rows go into: a main one, and wide ones for logged series with
// labels.
//
// A step's own series and what is logged without labels (a loss) come with every step and stay
// narrow, in the main stream. Series with labels may be thousands (statistics of tensors, a bucket
// each of a histogram) and come with one step in hundreds: they get streams by metric, so that no
// step pays for cells it misses. A stream has so few columns that its schema fits into a record,
// and streams are so few that a reader keeps all their schemas (engine: max_schemas_per_source).
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

// Owns what the frames of its last Write point into. Not thread-safe. Columns count over all
// streams; the rows given to Write use these numbers.
class RowStreams {
 public:
  // Uses the stream main_stream, and those from first_wide_stream on.
  RowStreams(uint32_t main_stream, uint32_t first_wide_stream, size_t max_cells,
             size_t cells_per_frame);

  // A column of the main stream: the one that the series has, or a new one.
  uint32_t MainColumn(const Labels& series, SeriesKind kind);
  size_t main_columns() const { return streams_[0]->columns.size(); }
  // The column of a series that one of the Add functions made.
  std::optional<uint32_t> Find(std::string_view metric, const Labels& series) const;
  // A new column of a wide stream of that metric; nothing when all streams are full.
  std::optional<uint32_t> AddWide(std::string_view metric, const Labels& series, SeriesKind kind);

  // Appends the rows to batch->frames, and to batch->schemas those that are new or changed. With
  // repeat_schemas also the others: the main stream's at once, a wide one's with its next frame,
  // since nobody needs it before. Returns how many rows (of a stream) found no room.
  size_t Write(std::vector<Row> rows, bool repeat_schemas, Batch* batch);

 private:
  struct Stream {
    Stream(uint32_t number, size_t cells_per_frame) : columns(number), writer(cells_per_frame) {}
    SeriesColumns columns;
    FrameWriter writer;
    std::vector<Row> rows;
    bool due = false;  // its schema is to be repeated
  };

  size_t WriteStream(Stream* stream, size_t* cells_left, Batch* batch);

  const uint32_t first_wide_stream_;
  const size_t max_cells_;  // of the main stream in one Write, and of all wide ones together
  const size_t cells_per_frame_;
  std::vector<std::unique_ptr<Stream>> streams_;  // the main one first
  StringMap<std::vector<uint32_t>> by_metric_;    // streams that have series of it, newest last
};

}  // namespace pitwall::steps
