#include "services/window/panes/open_pane.h"

#include <memory>
#include <utility>

#include "services/model/value.h"

namespace pitwall::window {

void OpenPane::Scatter(Position position, std::span<const uint32_t> cells,
                       std::span<const uint32_t> columns, const double* values,
                       const PaneShape& shape, SampleLimits& limits) {
  settled_ = false;
  ++version_;
  const bool timed = shape.plan.timed();
  for (size_t i = 0; i < cells.size(); ++i) {
    const double value = values[cells[i]];
    if (IsMissing(value)) continue;
    const uint32_t column = columns[i];
    uint32_t layer = layers_.depth(column);
    if (layer >= layers_.used()) {
      if (layer == SampleLayers::kMax) {
        FoldLayers(shape, limits);
        layer = 0;
      }
      layers_.Open(layer, shape);
    }
    layers_.Put(layer, column, position, value, timed);
  }
}

void OpenPane::MakePane(const PaneShape& shape, SampleLimits& limits) {
  settled_ = true;
  pane_.version = version_;
  if (layers_.used() == 0) return;  // the pane is empty, or all layers are folded
  if (layers_.used() == 1 && !folded_) {
    pane_.form = PaneForm::kSingle;
    pane_.present = layers_.count(0);
    pane_.values = layers_.values(0);
    if (shape.plan.timed()) pane_.times = layers_.times(0);
    return;
  }
  FoldLayers(shape, limits);
}

Pane OpenPane::Close(const PaneShape& shape, SampleLimits& limits) {
  Settle(shape, limits);
  Pane closed = std::move(pane_);
  pane_ = Pane();
  // The closed pane owns the row now.
  if (closed.form == PaneForm::kSingle) layers_.Clear(shape.columns);
  folded_ = false;
  settled_ = false;
  ++version_;
  return closed;
}

void OpenPane::FoldLayers(const PaneShape& shape, SampleLimits& limits) {
  pane_.form = PaneForm::kDeep;
  pane_.values.reset();
  pane_.times.reset();
  if (pane_.deep == nullptr) pane_.deep = std::make_unique<DeepPane>();
  const std::vector<Family>& families = shape.plan.families();
  pane_.deep->partials.resize(families.size());
  for (size_t f = 0; f < families.size(); ++f) {
    // The scaled sums are computed first, because they start from the sums without these layers.
    if (families[f] == Family::kSums && huge_) FoldScaled(f, shape);
    FoldPartial(f, shape);
  }
  if (shape.plan.ordered()) limits.Keep(layers_, shape.columns, *pane_.deep);
  layers_.Clear(shape.columns);
  folded_ = true;
}

void OpenPane::FoldPartial(size_t family_index, const PaneShape& shape) {
  const FamilyOps& ops = OpsOf(shape.plan.families()[family_index]);
  RowPool& pool = shape.pool;
  Row& partial = pane_.deep->partials[family_index];
  for (uint32_t j = 0; j < layers_.used(); ++j) {
    Row out = pool.New(ops.fields);
    ops.append(out.cells(), (partial ? partial : pool.Identity(ops.fields)).cells(),
               layers_.cells(j), layers_.time_cells(j), pool.capacity(), shape.columns,
               layers_.count(j) == shape.columns);
    partial = std::move(out);
  }
}

void OpenPane::FoldScaled(size_t sums_index, const PaneShape& shape) {
  const FamilyOps& ops = OpsOf(Family::kSums);
  RowPool& pool = shape.pool;
  Row& scaled = pane_.deep->scaled;
  const Row& sums = pane_.deep->partials[sums_index];
  if (!scaled && sums) {
    scaled = pool.NewIdentity(ops.fields);
    const size_t c = pool.capacity();
    for (size_t i = 0; i < shape.columns; ++i) {
      scaled.cells()[i] = sums.cells()[i] * kHugeScale;
      scaled.cells()[c + i] = sums.cells()[c + i] * kHugeScale;
      scaled.cells()[2 * c + i] = sums.cells()[2 * c + i];
    }
  }
  Row values = pool.NewIdentity(1);
  for (uint32_t j = 0; j < layers_.used(); ++j) {
    for (size_t i = 0; i < shape.columns; ++i) {
      const double x = layers_.cells(j)[i];
      values.cells()[i] = IsMissing(x) ? x : x * kHugeScale;
    }
    Row out = pool.New(ops.fields);
    ops.append(out.cells(), (scaled ? scaled : pool.Identity(ops.fields)).cells(), values.cells(),
               nullptr, pool.capacity(), shape.columns, false);
    scaled = std::move(out);
  }
}

void OpenPane::Remap(RowMapper& mapper, size_t capacity) {
  // The rows of a single-sample pane belong to its layer.
  pane_.values.reset();
  pane_.times.reset();
  mapper.MapPane(pane_);
  layers_.Remap(mapper, capacity);
  if (!folded_) pane_.form = PaneForm::kEmpty;
  settled_ = false;
  ++version_;
}

void OpenPane::Reset(size_t columns) {
  pane_ = Pane();
  layers_.Clear(columns);
  settled_ = folded_ = huge_ = false;
  ++version_;
}

void OpenPane::SaveFlags(BinaryWriter& out) const {
  out.Bool(huge_);
  out.Bool(folded_);
}

void OpenPane::LoadFlags(BinaryReader& in) {
  huge_ = in.Bool();
  folded_ = in.Bool();
}

void OpenPane::SaveSamples(BinaryWriter& out, const PaneCodec& codec) const {
  if (folded_) codec.SavePane(out, pane_);
  layers_.Save(out, codec);
}

void OpenPane::LoadSamples(BinaryReader& in, const PaneCodec& codec) {
  if (folded_) {
    pane_ = codec.LoadPane(in);
    if (pane_.form != PaneForm::kDeep) in.Fail();
  }
  layers_.Load(in, codec);
  settled_ = false;
}

}  // namespace pitwall::window
