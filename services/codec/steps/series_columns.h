// Growing list of the columns in one stream.
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

  // Returns the series' column, which is appended if it is new.
  uint32_t Column(const Labels& labels, SeriesKind kind);
  std::optional<uint32_t> Find(const Labels& labels) const;
  size_t size() const { return schema_.series.size(); }

  // Returns the current schema with its ID. The reference is valid until the next non-const call.
  const Schema& schema();
  // Returns true if the schema has changed since the last call to Announced().
  bool changed() const { return schema_.series.size() != announced_; }
  void Announced() { announced_ = schema_.series.size(); }

 private:
  Schema schema_;
  size_t hashed_ = 0;  // number of series included in the schema ID
  size_t announced_ = 0;
  absl::flat_hash_map<Labels, uint32_t> columns_;
};

}  // namespace pitwall::steps
