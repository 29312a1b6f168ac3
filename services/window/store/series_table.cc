#include "services/window/store/series_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/base/text/strings.h"
#include "services/model/label_bytes.h"

namespace pitwall::window {
namespace {

void SaveLabels(BinaryWriter& out, const Labels& labels) {
  out.U64(labels.size());
  for (const Label& label : labels) {
    out.Str(label.name);
    out.Str(label.value);
  }
}

Labels LoadLabels(BinaryReader& in) {
  std::vector<Label> pairs;
  const size_t n = in.Count(2);
  for (size_t i = 0; i < n && in.ok(); ++i) {
    std::string name = in.Str();
    pairs.push_back({std::move(name), in.Str()});
  }
  return Labels::FromPairs(std::move(pairs));
}

}  // namespace

bool SeriesTable::IsCrowded(size_t share) const {
  return known_ > max_series_ - max_series_ / share ||
         label_bytes_ > max_label_bytes_ - max_label_bytes_ / share;
}

std::optional<SeriesId> SeriesTable::Find(const Labels& labels) const {
  const auto it = ids_.find(labels);
  if (it == ids_.end()) return std::nullopt;
  return SeriesId(it->second);
}

StatusOr<SeriesId> SeriesTable::Add(const Labels& labels, Position sealed) {
  if (known_ >= max_series_) {
    return ResourceExhausted(Cat("series ", labels.ToString(),
                                 ": the job already has the maximum of ", max_series_,
                                 " series (max_series)"));
  }
  const size_t bytes = LabelBytes(labels);
  if (label_bytes_ + bytes > max_label_bytes_) {
    return OutOfRange(Cat("series ", labels.Name(), ": the job's labels already use ", label_bytes_,
                          " bytes; the limit is ", max_label_bytes_, " (max_label_bytes)"));
  }
  label_bytes_ += bytes;
  uint32_t id;
  if (free_ids_.empty()) {
    id = size();
    series_.emplace_back();
    last_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  Series& series = series_[id];
  series.labels = labels;
  series.known = true;
  series.added_at = sealed;
  last_[id] = LastSample();
  ids_.emplace(&series.labels, id);
  ++known_;
  return SeriesId(id);
}

void SeriesTable::Forget(SeriesId id) {
  Series& series = series_[id.value()];
  ids_.erase(series.labels);
  label_bytes_ -= LabelBytes(series.labels);
  series = Series();
  last_[id.value()] = LastSample();
  free_ids_.push_back(id.value());
  --known_;
}

Position SeriesTable::LastUse(SeriesId id) const {
  return std::max(last_[id.value()].position, series_[id.value()].added_at);
}

void SeriesTable::DropSamples() {
  std::fill(last_.begin(), last_.end(), LastSample());
  for (Series& series : series_) series.added_at = Position::Earliest();
}

void SeriesTable::Save(BinaryWriter& out) const {
  out.U64(series_.size());
  for (uint32_t id = 0; id < size(); ++id) {
    const Series& series = series_[id];
    out.Bool(series.known);
    if (!series.known) continue;
    SaveLabels(out, series.labels);
    out.Bool(series.dormant);
    out.I64(series.added_at.ns());
    out.I64(last_[id].position.ns());
    out.Double(last_[id].value);
  }
  out.U32s(free_ids_);
}

void SeriesTable::Load(BinaryReader& in) {
  const size_t n = in.Count(1);
  for (uint32_t id = 0; id < n && in.ok(); ++id) {
    Series& series = series_.emplace_back();
    LastSample& last = last_.emplace_back();
    series.known = in.Bool();
    if (!series.known) continue;
    series.labels = LoadLabels(in);
    label_bytes_ += LabelBytes(series.labels);
    series.dormant = in.Bool();
    series.added_at = Position::FromNs(in.I64());
    last.position = Position::FromNs(in.I64());
    last.value = in.Double();
    ++known_;
    if (!ids_.emplace(&series.labels, id).second) in.Fail();
  }
  free_ids_ = in.U32s();
  if (free_ids_.size() != series_.size() - known_) in.Fail();
  for (const uint32_t id : free_ids_) {
    if (id >= size() || series_[id].known) in.Fail();
  }
}

size_t SeriesTable::MemoryBytes() const {
  size_t bytes = ids_.capacity() * 17;
  for (const Series& series : series_) {
    bytes += sizeof(Series) + sizeof(LastSample);
    for (const Label& label : series.labels) {
      bytes += sizeof(Label) + (label.name.capacity() > 15 ? label.name.capacity() : 0) +
               (label.value.capacity() > 15 ? label.value.capacity() : 0);
    }
  }
  return bytes;
}

}  // namespace pitwall::window
