// The growing columns of one stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/model/telemetry.h"

namespace pitwall::steps {

// Series of one stream in order of first appearance. Series are never removed. Not thread-safe.
class SeriesColumns {
 public:
  explicit SeriesColumns(uint32_t stream) { schema_.stream = stream; }

  // The series' column: the one it has, or a new last one.
  uint32_t Column(const Labels& labels, SeriesKind kind);
  std::optional<uint32_t> Find(const Labels& labels) const;
  size_t size() const { return schema_.series.size(); }

  // Current schema with its ID; valid until the next call that is not const.
  const Schema& schema();
  // True if the schema differs from the last announced one. Announced() marks it as announced.
  bool changed() const { return schema_.series.size() != announced_; }
  void Announced() { announced_ = schema_.series.size(); }

 private:
  Schema schema_;
  size_t hashed_ = 0;  // series that the id covers
  size_t announced_ = 0;
  absl::flat_hash_map<Labels, uint32_t> columns_;
};

}  // namespace pitwall::steps
