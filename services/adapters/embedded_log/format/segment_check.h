// Verification that a segment file contains its committed records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/segment.h"
#include "services/base/status.h"

namespace pitwall::log {

// Unreadable offsets in a segment.
struct UnreadableStretch {
  int64_t at = 0;  // byte position
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  std::string reason;
};

struct SegmentCheck {
  std::vector<UnreadableStretch> unreadable;  // offsets in `lost` are not included
  bool header_damaged = false;                // damage in the 16 bytes before the batches
};

// Reads the first `bytes` bytes of the file and checks the header and the checksum of every batch.
// In appended segments, also checks that no offset up to `end_offset` is missing; compacted
// segments may have holes.
StatusOr<SegmentCheck> CheckSegment(const std::string& dir, const SegmentName& name, int64_t bytes,
                                    int64_t end_offset, const std::vector<Lost>& lost);

// Collects the readable batches in the first `bytes` bytes of the file and returns the content of a
// new segment file with the same name.
StatusOr<std::string> ReadableBatches(const std::string& path, const SegmentName& name,
                                      int64_t bytes, int64_t end_offset);

// Returns the parts of [from, to) that `lost` does not cover.
std::vector<Lost> Uncovered(int64_t from, int64_t to, const std::vector<Lost>& lost);

}  // namespace pitwall::log
