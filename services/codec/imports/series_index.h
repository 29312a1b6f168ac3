// Index of the series in an input, numbered in order of first appearance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/status.h"
#include "services/codec/imports/sample_sink.h"
#include "services/model/labels.h"

namespace pitwall::imports {

class SeriesIndex {
 public:
  static constexpr size_t kMaxSeries = 1'000'000;

  // `sink` is not owned.
  explicit SeriesIndex(SampleSink* sink) : sink_(sink) {}

  // Returns the series number for a label set and mode, and adds the series to the sink if it is
  // new. Returns ResourceExhausted if there are more than kMaxSeries.
  StatusOr<uint32_t> Find(const Labels& labels, std::string_view mode);
  SampleSink* sink() const { return sink_; }

 private:
  SampleSink* const sink_;
  absl::flat_hash_map<std::pair<Labels, std::string>, uint32_t> series_;
};

}  // namespace pitwall::imports
