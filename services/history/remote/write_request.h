// The body of a request of Prometheus remote write 1.0: a protobuf message, compressed by snappy.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "services/model/labels.h"

namespace pitwall::history {

// A series as the receiver gets it. Ids grow as series are met: an older one of equal labels has
// the lesser id.
struct MirroredSeries {
  uint64_t id = 0;
  Labels labels;  // with __name__ and pitwall_job, sorted
  int64_t last_ms = INT64_MIN;
  uint64_t flush = 0;  // that its newest sample is of
  bool ended = true;   // nothing since the last stale marker
};

// Samples that are older than the newest of their series, which some receivers refuse.
inline constexpr uint32_t kLateGroup = UINT32_MAX;

struct MirroredSample {
  uint32_t group = 0;  // samples of a later group come after those of an earlier one
  const MirroredSeries* series = nullptr;
  int64_t time_ms = 0;
  double value = 0;
};

// Samples one after another that are of one series become one entry.
std::string EncodeWriteRequest(std::span<const MirroredSample> samples);

}  // namespace pitwall::history
