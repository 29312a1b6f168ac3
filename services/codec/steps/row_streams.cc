#include "services/codec/steps/row_streams.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pitwall::steps {
namespace {

// A column number has the stream in its high bits and the position within the stream in its low
// bits. The main stream is 0.
constexpr uint32_t kPlaceBits = 24;

uint32_t Number(uint32_t stream, uint32_t place) { return stream << kPlaceBits | place; }
uint32_t StreamOf(uint32_t column) { return column >> kPlaceBits; }
uint32_t PlaceOf(uint32_t column) { return column & ((1u << kPlaceBits) - 1); }

}  // namespace

RowStreams::RowStreams(uint32_t main_stream, uint32_t first_wide_stream, size_t max_cells,
                       size_t cells_per_frame)
    : first_wide_stream_(first_wide_stream),
      max_cells_(max_cells),
      cells_per_frame_(cells_per_frame) {
  streams_.push_back(std::make_unique<Stream>(main_stream, cells_per_frame));
}

uint32_t RowStreams::MainColumn(const Labels& series, SeriesKind kind) {
  return Number(0, streams_[0]->columns.Column(series, kind));
}

std::optional<uint32_t> RowStreams::Find(std::string_view metric, const Labels& series) const {
  if (const auto place = streams_[0]->columns.Find(series)) return Number(0, *place);
  const auto known = by_metric_.find(metric);
  if (known == by_metric_.end()) return std::nullopt;
  for (const uint32_t stream : known->second) {
    if (const auto place = streams_[stream]->columns.Find(series)) return Number(stream, *place);
  }
  return std::nullopt;
}

std::optional<uint32_t> RowStreams::AddWide(std::string_view metric, const Labels& series,
                                            SeriesKind kind) {
  auto& own = by_metric_.try_emplace(std::string(metric)).first->second;
  if (own.empty() || streams_[own.back()]->columns.size() >= kMaxWideColumns) {
    uint32_t room = 0;
    if (streams_.size() <= kMaxWideStreams) {
      room = static_cast<uint32_t>(streams_.size());
      streams_.push_back(std::make_unique<Stream>(first_wide_stream_ + room - 1, cells_per_frame_));
    }
    // All streams are in use, so the metric shares the first stream with free columns.
    for (uint32_t s = 1; room == 0 && s < streams_.size(); ++s) {
      if (streams_[s]->columns.size() < kMaxWideColumns) room = s;
    }
    if (room == 0) return std::nullopt;
    own.push_back(room);
  }
  return Number(own.back(), streams_[own.back()]->columns.Column(series, kind));
}

size_t RowStreams::Write(std::vector<Row> rows, bool repeat_schemas, Batch* batch) {
  for (const Row& row : rows) {
    for (const auto& [column, value] : row.cells) {
      std::vector<Row>& into = streams_[StreamOf(column)]->rows;
      if (into.empty() || into.back().time_ns != row.time_ns || into.back().step != row.step ||
          into.back().mode != row.mode) {
        into.push_back({row.time_ns, row.step, row.mode, {}});
      }
      into.back().cells.emplace_back(PlaceOf(column), value);
    }
  }
  size_t main_cells = std::max(max_cells_, main_columns());
  size_t wide_cells = max_cells_;
  size_t dropped = 0;
  for (const auto& stream : streams_) {
    stream->due = stream->due || repeat_schemas;
    const bool main = stream == streams_.front();
    const size_t before = batch->frames.size();
    dropped += WriteStream(stream.get(), main ? &main_cells : &wide_cells, batch);
    const bool used = batch->frames.size() > before;
    SeriesColumns& columns = stream->columns;
    // A new schema is announced with the first frames that use it. The main stream's schema is also
    // repeated without frames.
    const bool announce = used ? stream->due || columns.changed() : stream->due && main;
    if (!announce || columns.size() == 0) continue;
    batch->schemas.push_back(columns.schema());
    columns.Announced();
    stream->due = false;
  }
  return dropped;
}

size_t RowStreams::WriteStream(Stream* stream, size_t* cells_left, Batch* batch) {
  std::vector<Row> rows = std::exchange(stream->rows, {});
  if (rows.empty()) return 0;
  const size_t before = batch->frames.size();
  const size_t dropped = stream->writer.Write(std::move(rows), stream->columns.schema().id,
                                              stream->columns.size(), *cells_left, batch);
  for (size_t i = before; i < batch->frames.size(); ++i)
    *cells_left -= std::min(*cells_left, batch->frames[i].values.size());
  return dropped;
}

}  // namespace pitwall::steps
