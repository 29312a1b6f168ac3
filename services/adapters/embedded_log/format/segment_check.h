// Check that a segment file holds the records that were committed to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/base/status.h"

namespace pitwall::log {

// Offsets of a segment that cannot be read.
struct UnreadableStretch {
  int64_t at = 0;  // byte position
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  std::string reason;
};

struct SegmentCheck {
  std::vector<UnreadableStretch> unreadable;  // what `lost` has already is not told again
  bool header_damaged = false;                // the 16 bytes before the batches
};

// Reads the first `bytes` of the file: header, every batch with its checksum, and that no offset is
// missing up to `end_offset` (where records were appended; compaction makes holes).
StatusOr<SegmentCheck> CheckSegment(const std::string& dir, const SegmentName& name, int64_t bytes,
                                    int64_t end_offset, const std::vector<Lost>& lost);

// The readable batches of the file's first `bytes`, as a segment file of the same name has them.
StatusOr<std::string> ReadableBatches(const std::string& path, const SegmentName& name,
                                      int64_t bytes, int64_t end_offset);

// The parts of [from, to) that `lost` does not cover.
std::vector<Lost> Uncovered(int64_t from, int64_t to, const std::vector<Lost>& lost);

}  // namespace pitwall::log
