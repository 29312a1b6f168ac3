// Catalogue entry of a segment: its window, and the places of the parts that are read without
// opening it.
#pragma once

#include <cstdint>
#include <string>

#include "services/adapters/store/segment_footer.h"
#include "services/base/binary.h"
#include "services/history/segments/step_index.h"

namespace pitwall::history {

// What is known of a segment without opening it.
struct SegmentMeta {
  std::string job;
  int64_t window_ns = 0;
  uint64_t generation = 0;
  uint64_t bytes = 0;
  uint32_t footer_crc = 0;
  uint64_t samples = 0;
  int64_t least_start_ns = INT64_MAX;  // of its spans, which may have begun before the window
  bool has_rows = true;                // false: raw samples were dropped
  int64_t dropped_ns = 0;              // when they were, by the wall clock; 0: not known
  StepIndex steps;
  store::Page metrics;  // directory of metric_pages.h; without bytes: written before there were any

  // All but `steps` and `metrics`, which lie beside it.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
};

}  // namespace pitwall::history
