// File with a spool's acknowledged position.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "services/base/status.h"

namespace pitwall::collector {

// A position between two records.
struct SpoolPosition {
  uint64_t segment = 0;
  uint64_t offset = 0;
  uint64_t index = 0;  // number of preceding records in the segment
  friend auto operator<=>(const SpoolPosition& a, const SpoolPosition& b) {
    return std::pair(a.segment, a.offset) <=> std::pair(b.segment, b.offset);
  }
  friend bool operator==(const SpoolPosition& a, const SpoolPosition& b) {
    return a.segment == b.segment && a.offset == b.offset;
  }
};

// The file has two slots that are written alternately, so that the previous position survives a
// torn write. A slot contains the save number, the segment, and the offset as 8 bytes each, then
// their CRC-32C. Not thread-safe.
class SpoolPositionFile {
 public:
  SpoolPositionFile() = default;
  ~SpoolPositionFile();
  SpoolPositionFile(const SpoolPositionFile&) = delete;
  SpoolPositionFile& operator=(const SpoolPositionFile&) = delete;

  // Opens or creates the file in `dir`. Returns the newest saved position, with index 0. The
  // segment is 0 if there is no saved position. Must be called once, before the other functions.
  StatusOr<SpoolPosition> Open(const std::string& dir);
  // Saves the segment and the offset.
  Status Save(const SpoolPosition& position);
  // Syncs saved positions to disk. Returns false and sets errno on failure.
  bool Sync();

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t saves_ = 0;
};

}  // namespace pitwall::collector
