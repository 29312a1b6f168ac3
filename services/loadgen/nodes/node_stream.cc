#include "services/loadgen/nodes/node_stream.h"

#include <cmath>

namespace pitwall::loadgen {

SeriesDescriptor NodeStream::Series(
    SeriesKind kind, std::string_view name,
    std::initializer_list<std::pair<std::string_view, std::string>> labels) const {
  std::vector<Label> pairs = {{std::string(kMetricName), std::string(name)}, {"node", node_}};
  for (const auto& [label, value] : labels) pairs.push_back({std::string(label), value});
  return {Labels::FromPairs(std::move(pairs)), kind};
}

void NodeStream::SetSchema(std::vector<SeriesDescriptor> series) {
  Schema schema;
  schema.stream = number_;
  schema.series = std::move(series);
  schema.id = SchemaId(schema.stream, schema.series);
  schema_ = SharedSchema(std::move(schema));
}

size_t NodeStream::AppendTo(bool repeat, std::span<const int64_t> times, Batch* batch) {
  if (schema_->series.empty() && announced_ == 0) return 0;
  if (repeat || announced_ != schema_->id) batch->schemas.push_back(schema_);
  announced_ = schema_->id;
  Frame frame;
  frame.schema_id = schema_->id;
  frame.times = times;
  frame.values = values_;
  batch->frames.push_back(frame);
  return values_.size();
}

double Pages(double bytes) {
  constexpr double kPage = 4096;
  return std::floor(bytes / kPage) * kPage;
}

}  // namespace pitwall::loadgen
