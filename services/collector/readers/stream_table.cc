#include "services/collector/readers/stream_table.h"

#include <algorithm>
#include <utility>

namespace pitwall::collector {

StreamTable::StreamTable(uint32_t stream, std::vector<std::unique_ptr<SeriesReader>> readers)
    : stream_(stream), readers_(std::move(readers)), segments_(1) {
  segments_[0].schema.stream = stream;
  segments_[0].schema.id = SchemaId(stream, {});
}

void StreamTable::SetReaders(std::vector<std::unique_ptr<SeriesReader>> readers) {
  readers_ = std::move(readers);
  changed_ = true;
}

void StreamTable::Sample(int64_t time_ns) {
  bool changed = std::exchange(changed_, false);
  for (const auto& reader : readers_) changed |= reader->Read();
  if (changed) {
    Schema schema;
    schema.stream = stream_;
    for (const auto& reader : readers_) reader->Describe(&schema.series);
    schema.id = SchemaId(stream_, schema.series);
    if (schema.id != segments_[used_ - 1].schema.id) {
      if (!segments_[used_ - 1].times.empty()) ++used_;
      if (segments_.size() < used_) segments_.emplace_back();
      segments_[used_ - 1].schema = std::move(schema);
      segments_[used_ - 1].times.clear();
      segments_[used_ - 1].values.clear();
    }
  }
  Segment& segment = segments_[used_ - 1];
  const size_t width = segment.schema.series.size();
  ever_had_series_ |= width > 0;
  // A stream with no series left still appends rows, so that receivers can detect the end of the
  // series.
  if (!ever_had_series_) return;
  segment.times.push_back(time_ns);
  const size_t row = segment.values.size();
  segment.values.resize(row + width);
  double* at = segment.values.data() + row;
  for (const auto& reader : readers_) at = reader->Fill(at);
}

void StreamTable::AppendTo(bool repeat, uint64_t* announced, Batch* batch) const {
  for (size_t i = 0; i < used_; ++i) {
    const Segment& segment = segments_[i];
    const bool newest = i + 1 == used_;
    if (!ever_had_series_ || (segment.times.empty() && !newest)) continue;
    if (*announced != segment.schema.id || (repeat && newest)) {
      const bool twice = std::any_of(batch->schemas.begin(), batch->schemas.end(),
                                     [&](const Schema& s) { return s.id == segment.schema.id; });
      if (!twice) batch->schemas.push_back(segment.schema);
      *announced = segment.schema.id;
    }
    if (segment.times.empty()) continue;
    batch->frames.push_back({segment.schema.id, segment.times, {}, {}, segment.values});
  }
}

void StreamTable::Clear() {
  if (used_ > 1) std::swap(segments_[0], segments_[used_ - 1]);
  used_ = 1;
  segments_[0].times.clear();
  segments_[0].values.clear();
}

}  // namespace pitwall::collector
