#include "services/window/panes/sample_layers.h"

#include <algorithm>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

int64_t* TimeCells(Row& row) { return row ? reinterpret_cast<int64_t*>(row.cells()) : nullptr; }

}  // namespace

void SampleLayers::Open(uint32_t layer, const PaneShape& shape) {
  Row& row = values_[layer];
  if (!row) row = shape.pool.NewIdentity(1);
  cells_[layer] = row.cells();
  if (shape.plan.timed()) {
    Row& times = times_[layer];
    if (!times) times = shape.pool.NewIdentity(1);
    time_cells_[layer] = TimeCells(times);
  }
  used_ = layer + 1;
}

void SampleLayers::Clear(size_t columns) {
  std::fill_n(depth_.begin(), columns, uint8_t{0});
  for (uint32_t j = 0; j < used_; ++j) {
    values_[j].reset();
    times_[j].reset();
    counts_[j] = 0;
  }
  used_ = 0;
}

void SampleLayers::Remap(RowMapper& mapper, size_t capacity) {
  for (uint32_t j = 0; j < kMax; ++j) {
    values_[j] = mapper(values_[j]);
    times_[j] = mapper(times_[j]);
    cells_[j] = values_[j] ? values_[j].cells() : nullptr;
    time_cells_[j] = TimeCells(times_[j]);
  }
  mapper.MapValues(depth_);
  depth_.resize(capacity, 0);
  counts_.fill(0);
  used_ = 0;
  for (const uint8_t depth : depth_) {
    used_ = std::max<uint32_t>(used_, depth);
    for (uint32_t j = 0; j < depth; ++j) ++counts_[j];
  }
  for (uint32_t j = used_; j < kMax; ++j) {
    values_[j].reset();
    times_[j].reset();
  }
}

void SampleLayers::Save(BinaryWriter& out, const PaneCodec& codec) const {
  out.Bytes({depth_.data(), codec.shape().columns});
  for (uint32_t j = 0; j < used_; ++j) {
    codec.SaveRow(out, values_[j]);
    if (codec.shape().plan.timed()) codec.SaveTimes(out, times_[j], values_[j]);
  }
}

void SampleLayers::Load(BinaryReader& in, const PaneCodec& codec) {
  const PaneShape& shape = codec.shape();
  const std::vector<uint8_t> depth = in.Bytes();
  if (!in.ok() || depth.size() != shape.columns) {
    in.Fail();
    return;
  }
  uint32_t layers = 0;
  for (const uint8_t used : depth) layers = std::max<uint32_t>(layers, used);
  if (layers > kMax) {
    in.Fail();
    return;
  }
  for (uint32_t j = 0; j < layers && in.ok(); ++j) {
    values_[j] = codec.LoadRow(in, 1);
    if (shape.plan.timed()) times_[j] = codec.LoadTimes(in, values_[j]);
    Open(j, shape);
    for (size_t i = 0; i < shape.columns; ++i) {
      const bool present = !IsMissing(values_[j].cells()[i]);
      counts_[j] += present ? 1 : 0;
      if (present != (depth[i] > j)) in.Fail();
    }
  }
  std::copy(depth.begin(), depth.end(), depth_.begin());
}

}  // namespace pitwall::window
