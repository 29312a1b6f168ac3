// Codec of the rows and panes of one track in its snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"
#include "services/window/panes/pane_plan.h"

namespace pitwall::window {

// Lives no longer than the parts of its shape. Damaged bytes fail the reader.
class PaneCodec {
 public:
  explicit PaneCodec(const PaneShape& shape) : shape_(shape) {}

  const PaneShape& shape() const { return shape_; }

  // The order of the partials in the panes that follow. A reload may have left the families in
  // another order than a fresh start gives.
  void SaveFamilies(BinaryWriter& out) const;
  void LoadFamilies(BinaryReader& in);

  void SaveRow(BinaryWriter& out, const Row& row) const;
  Row LoadRow(BinaryReader& in, uint32_t fields) const;
  // Positions of the present samples of `values`.
  void SaveTimes(BinaryWriter& out, const Row& times, const Row& values) const;
  Row LoadTimes(BinaryReader& in, const Row& values) const;
  void SavePane(BinaryWriter& out, const Pane& pane) const;
  Pane LoadPane(BinaryReader& in) const;

 private:
  void SaveDeepPane(BinaryWriter& out, const DeepPane& deep) const;
  void LoadDeepPane(BinaryReader& in, DeepPane& deep) const;

  PaneShape shape_;
  std::vector<size_t> order_;  // index in the plan of each saved partial
};

}  // namespace pitwall::window
