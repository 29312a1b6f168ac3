// Codec for the rows and panes of one track in its snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/binary.h"
#include "services/window/kernels/pane.h"
#include "services/window/kernels/row.h"
#include "services/window/panes/pane_plan.h"

namespace pitwall::window {

// The codec must not outlive the parts of its shape. Damaged bytes mark the reader as failed.
class PaneCodec {
 public:
  explicit PaneCodec(const PaneShape& shape) : shape_(shape) {}

  const PaneShape& shape() const { return shape_; }

  // Saves the order of the partials in the following panes. After a reload, the order of the
  // families may differ from that of a fresh start.
  void SaveFamilies(BinaryWriter& out) const;
  void LoadFamilies(BinaryReader& in);

  void SaveRow(BinaryWriter& out, const Row& row) const;
  Row LoadRow(BinaryReader& in, uint32_t fields) const;
  // Saves the positions of the samples present in `values`.
  void SaveTimes(BinaryWriter& out, const Row& times, const Row& values) const;
  Row LoadTimes(BinaryReader& in, const Row& values) const;
  void SavePane(BinaryWriter& out, const Pane& pane) const;
  Pane LoadPane(BinaryReader& in) const;

 private:
  void SaveDeepPane(BinaryWriter& out, const DeepPane& deep) const;
  void LoadDeepPane(BinaryReader& in, DeepPane& deep) const;

  PaneShape shape_;
  std::vector<size_t> order_;  // by saved partial: its index in the plan
};

}  // namespace pitwall::window
