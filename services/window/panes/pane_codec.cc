#include "services/window/panes/pane_codec.h"

#include <algorithm>
#include <memory>

#include "services/model/value.h"

namespace pitwall::window {

void PaneCodec::SaveFamilies(BinaryWriter& out) const {
  const std::vector<Family>& families = shape_.plan.families();
  out.U64(families.size());
  for (const Family family : families) out.U8(static_cast<uint8_t>(family));
}

void PaneCodec::LoadFamilies(BinaryReader& in) {
  const size_t families = shape_.plan.families().size();
  if (in.U64() != families) {
    in.Fail();
    return;
  }
  order_.clear();
  for (size_t f = 0; f < families; ++f) {
    order_.push_back(shape_.plan.IndexOf(static_cast<Family>(in.U8())));
    if (order_.back() >= families) in.Fail();
  }
}

void PaneCodec::SaveRow(BinaryWriter& out, const Row& row) const {
  for (uint32_t f = 0; f < row.fields(); ++f)
    out.Doubles({row.cells() + f * shape_.pool.capacity(), shape_.columns});
}

Row PaneCodec::LoadRow(BinaryReader& in, uint32_t fields) const {
  Row row = shape_.pool.NewIdentity(fields);
  for (uint32_t f = 0; f < fields; ++f) {
    const std::vector<double> cells = in.Doubles();
    if (cells.size() != shape_.columns) {
      in.Fail();
      break;
    }
    std::copy(cells.begin(), cells.end(), row.cells() + f * shape_.pool.capacity());
  }
  return row;
}

void PaneCodec::SaveTimes(BinaryWriter& out, const Row& times, const Row& values) const {
  const auto* cells = reinterpret_cast<const int64_t*>(times.cells());
  // A column without a sample repeats the previous position, encoded in one byte.
  std::vector<int64_t> packed(shape_.columns, 0);
  for (size_t i = 0; i < shape_.columns; ++i)
    packed[i] = IsMissing(values.cells()[i]) ? (i > 0 ? packed[i - 1] : 0) : cells[i];
  out.I64s(packed);
}

Row PaneCodec::LoadTimes(BinaryReader& in, const Row& values) const {
  Row row = shape_.pool.NewIdentity(1);
  const std::vector<int64_t> times = in.I64s();
  if (times.size() != shape_.columns) {
    in.Fail();
    return row;
  }
  auto* cells = reinterpret_cast<int64_t*>(row.cells());
  for (size_t i = 0; i < shape_.columns; ++i) {
    if (!IsMissing(values.cells()[i])) cells[i] = times[i];
  }
  return row;
}

void PaneCodec::SavePane(BinaryWriter& out, const Pane& pane) const {
  out.U8(static_cast<uint8_t>(pane.form));
  if (pane.form == PaneForm::kSingle) {
    SaveRow(out, pane.values);
    out.Bool(static_cast<bool>(pane.times));
    if (pane.times) SaveTimes(out, pane.times, pane.values);
  }
  if (pane.form == PaneForm::kDeep) SaveDeepPane(out, *pane.deep);
}

Pane PaneCodec::LoadPane(BinaryReader& in) const {
  Pane pane;
  const uint8_t form = in.U8();
  if (form > static_cast<uint8_t>(PaneForm::kDeep)) {
    in.Fail();
    return pane;
  }
  pane.form = static_cast<PaneForm>(form);
  if (pane.form == PaneForm::kSingle) {
    pane.values = LoadRow(in, 1);
    if (in.Bool()) pane.times = LoadTimes(in, pane.values);
    pane.CountPresent(shape_.columns);
  }
  if (pane.form == PaneForm::kDeep) {
    pane.deep = std::make_unique<DeepPane>();
    LoadDeepPane(in, *pane.deep);
  }
  return pane;
}

void PaneCodec::SaveDeepPane(BinaryWriter& out, const DeepPane& deep) const {
  for (const Row& partial : deep.partials) {
    out.Bool(static_cast<bool>(partial));
    if (partial) SaveRow(out, partial);
  }
  out.Bool(static_cast<bool>(deep.scaled));
  if (deep.scaled) SaveRow(out, deep.scaled);
  out.U64(deep.samples.size());
  for (const Row& row : deep.samples) SaveRow(out, row);
  out.U64(deep.extras.size());
  for (const Extra& extra : deep.extras) {
    out.U64(extra.column);
    out.Double(extra.value);
  }
  out.U32s(deep.dropped);
}

void PaneCodec::LoadDeepPane(BinaryReader& in, DeepPane& deep) const {
  const std::vector<Family>& families = shape_.plan.families();
  deep.partials.resize(families.size());
  for (const size_t f : order_) {
    if (in.Bool()) deep.partials[f] = LoadRow(in, OpsOf(families[f]).fields);
  }
  if (in.Bool()) deep.scaled = LoadRow(in, OpsOf(Family::kSums).fields);
  const size_t samples = in.Count(1);
  for (size_t k = 0; k < samples && in.ok(); ++k) deep.samples.push_back(LoadRow(in, 1));
  const size_t extras = in.Count(9);
  for (size_t k = 0; k < extras && in.ok(); ++k) {
    const uint64_t column = in.U64();
    const double value = in.Double();
    if (column >= shape_.columns) in.Fail();
    deep.extras.push_back({static_cast<uint32_t>(column), value});
  }
  deep.dropped = in.U32s();
  for (const uint32_t column : deep.dropped) {
    if (column >= shape_.columns) in.Fail();
  }
}

}  // namespace pitwall::window
