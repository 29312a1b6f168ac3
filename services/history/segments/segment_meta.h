// Catalog entry of a segment: its window and the locations of the parts that are read without
// opening the segment.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "services/adapters/store/segment_footer.h"
#include "services/history/binary_fields.h"
#include "services/history/segments/step_index.h"

namespace pitwall::history {

// Segment metadata that is available without opening the segment.
struct SegmentMeta {
  std::string job;
  int64_t window_ns = 0;
  uint64_t generation = 0;
  uint64_t bytes = 0;
  uint32_t footer_crc = 0;
  uint64_t samples = 0;
  int64_t least_start_ns = INT64_MAX;  // earliest span start, which may be before the window
  bool has_rows = true;                // false if the raw samples were dropped
  int64_t dropped_ns = 0;              // wall time of the drop; 0 if unknown
  StepIndex steps;
  // Location of the directory page (metric_pages.h). Its size is zero in catalog rows of former
  // formats, whose segments cannot be opened.
  store::Page metrics;

  // Members before the state of the raw samples.
  static constexpr auto BinaryMembers() {
    using T = SegmentMeta;
    return std::tuple(&T::job, &T::window_ns, &T::generation, &T::bytes, &T::footer_crc,
                      &T::samples, &T::least_start_ns);
  }
  // Saves all fields except `steps` and `metrics`, which are saved separately.
  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);
};

}  // namespace pitwall::history
