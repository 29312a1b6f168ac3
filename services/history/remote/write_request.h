// Body of a Prometheus remote write 1.0 request: a protobuf message compressed with snappy.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "services/model/labels.h"

namespace pitwall::history {

// Series as sent to the receiver. IDs increase in order of first use, so among series with equal
// labels, the older series has the lower ID.
struct MirroredSeries {
  uint64_t id = 0;
  Labels labels;  // sorted; includes __name__ and pitwall_job
  int64_t last_ms = INT64_MIN;
  uint64_t flush = 0;  // flush that contains the newest sample of the series
  bool ended = true;   // true if no sample followed the last stale marker
};

// Group of samples that are older than the newest sample of their series. Some receivers reject
// such samples.
inline constexpr uint32_t kLateGroup = UINT32_MAX;

struct MirroredSample {
  uint32_t group = 0;  // samples of a higher group follow the samples of lower groups
  const MirroredSeries* series = nullptr;
  int64_t time_ms = 0;
  double value = 0;
};

// Encodes the samples. Consecutive samples of one series become one entry.
std::string EncodeWriteRequest(std::span<const MirroredSample> samples);

}  // namespace pitwall::history
