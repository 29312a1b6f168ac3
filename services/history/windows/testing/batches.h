// Test batches that own their rows, in the form that sources send.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/time.h"
#include "services/model/labels.h"
#include "services/model/matcher.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

inline constexpr int64_t kBegin = 1'767'225'600 * kNanosPerSecond;  // a multiple of all tiers

// Batch that owns the data that its frames reference.
struct OwnedBatch {
  Batch batch;
  std::vector<std::unique_ptr<std::vector<int64_t>>> numbers;
  std::vector<std::unique_ptr<std::vector<double>>> values;

  OwnedBatch(std::string source, uint64_t sequence, int64_t rank = -1) {
    batch.job = "job-1";
    batch.source = source;
    batch.boot_id = "boot-1";
    batch.sequence = sequence;
    batch.info.node = "node-1";
    batch.info.rank = rank;
    batch.info.kind = rank < 0 ? SourceKind::kNode : SourceKind::kRank;
    batch.info.start = EventTime::FromNs(kBegin);
  }
  OwnedBatch& Rows(const Schema& schema, std::vector<int64_t> times, std::vector<double> cells,
                   std::vector<int64_t> steps = {}, std::string_view mode = "") {
    Frame frame;
    frame.schema_id = schema.id;
    numbers.push_back(std::make_unique<std::vector<int64_t>>(std::move(times)));
    frame.times = *numbers.back();
    numbers.push_back(std::make_unique<std::vector<int64_t>>(std::move(steps)));
    frame.steps = *numbers.back();
    frame.mode = mode;
    values.push_back(std::make_unique<std::vector<double>>(std::move(cells)));
    frame.values = *values.back();
    batch.promise = std::max(batch.promise, EventTime::FromNs(frame.times.back()));
    batch.frames.push_back(frame);
    return *this;
  }
};

inline Schema SchemaOf(uint32_t stream, std::vector<Labels> labels) {
  Schema schema;
  schema.stream = stream;
  for (Labels& l : labels) schema.series.push_back({std::move(l), SeriesKind::kGauge});
  schema.id = SchemaId(stream, schema.series);
  return schema;
}

inline Selector NameIs(std::string_view metric) {
  return Selector{{*Matcher::Make(kMetricName, MatchOp::kEqual, metric)}};
}

}  // namespace pitwall::history
