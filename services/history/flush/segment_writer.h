// Writes a sealed window.
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

// Hints of columns from window to window, by (origin's source, schema).
using SegmentHints = std::map<std::pair<std::string, uint64_t>, std::vector<blocks::FormHint>>;

// Writes a window, reading one of its tables after another. `facts` needs job, window, generation
// and has_rows; the rest is filled in. Without rows finer rollups go in instead.
Status WriteWindow(const std::string& path, const FlushInput& window, SegmentHints* hints,
                   SegmentMeta* facts, const std::shared_ptr<files::DiskFaults>& faults);

}  // namespace pitwall::history
