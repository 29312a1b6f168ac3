// Writer for sealed windows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/history/flush/flush_input.h"
#include "services/history/segments/window_segment.h"

namespace pitwall::history {

// Column encoding hints carried over from one window to the next, by (source, schema).
using SegmentHints = std::map<std::pair<std::string, uint64_t>, std::vector<blocks::FormHint>>;

// Writes a window by reading one table at a time. The caller sets job, window, generation, and
// has_rows in `facts`, and the function sets the remaining fields. If the window has no rows, finer
// rollups are written instead.
Status WriteWindow(const std::string& path, const FlushInput& window, SegmentHints* hints,
                   SegmentMeta* facts, const std::shared_ptr<files::DiskFaults>& faults);

}  // namespace pitwall::history
