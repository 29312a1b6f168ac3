#include "services/codec/steps/series_columns.h"

namespace pitwall::steps {

uint32_t SeriesColumns::Column(const Labels& labels, SeriesKind kind) {
  const auto [it, added] =
      columns_.try_emplace(labels, static_cast<uint32_t>(schema_.series.size()));
  if (added) schema_.series.push_back({labels, kind});
  return it->second;
}

std::optional<uint32_t> SeriesColumns::Find(const Labels& labels) const {
  const auto it = columns_.find(labels);
  if (it == columns_.end()) return std::nullopt;
  return it->second;
}

const Schema& SeriesColumns::schema() {
  if (hashed_ != schema_.series.size()) {
    schema_.id = SchemaId(schema_.stream, schema_.series);
    hashed_ = schema_.series.size();
  }
  return schema_;
}

}  // namespace pitwall::steps
