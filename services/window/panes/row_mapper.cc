#include "services/window/panes/row_mapper.h"

namespace pitwall::window {

RowMapper::RowMapper(const std::vector<uint32_t>& keep, size_t columns, const RowPool& from,
                     RowPool& to)
    : keep_(keep), target_(columns, UINT32_MAX), from_(from), to_(to) {
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] < columns) target_[keep[i]] = static_cast<uint32_t>(i);
  }
}

Row RowMapper::operator()(const Row& row) {
  if (!row) return Row();
  Row& to = mapped_[row.id()];
  if (!to) to = Copy(row);
  return to;
}

Row RowMapper::Copy(const Row& row) const {
  Row out = to_.NewIdentity(row.fields());
  for (uint32_t f = 0; f < row.fields(); ++f) {
    const double* from_cells = row.cells() + f * from_.capacity();
    double* to_cells = out.cells() + f * to_.capacity();
    for (size_t i = 0; i < keep_.size(); ++i) {
      if (keep_[i] < target_.size()) to_cells[i] = from_cells[keep_[i]];
    }
  }
  return out;
}

void RowMapper::MapPane(Pane& pane) {
  pane.values = (*this)(pane.values);
  pane.times = (*this)(pane.times);
  if (pane.deep == nullptr) return;
  DeepPane& deep = *pane.deep;
  for (Row& row : deep.partials) row = (*this)(row);
  deep.scaled = (*this)(deep.scaled);
  for (Row& row : deep.samples) row = (*this)(row);
  std::erase_if(deep.extras,
                [this](const Extra& extra) { return target_[extra.column] == UINT32_MAX; });
  for (Extra& extra : deep.extras) extra.column = target_[extra.column];
  std::erase_if(deep.dropped, [this](uint32_t column) { return target_[column] == UINT32_MAX; });
  for (uint32_t& column : deep.dropped) column = target_[column];
}

}  // namespace pitwall::window
