// Pool of job schemas. Each schema is in memory only once, even though all of a job's segments
// contain the same thousands of series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// Index of a schema's columns by metric, so that queries do not have to check all labels.
struct MetricColumns {
  StringMap<std::vector<uint32_t>> of_metric;  // columns of each metric, ascending
  std::vector<uint32_t> unnamed;               // columns whose first label is not the metric name
};

// Schemas of all loaded jobs. Thread-safe.
class SchemaPool {
 public:
  // Size and checksum of the schema, as saved by codec::SaveSchema.
  struct Saved {
    size_t bytes = 0;
    uint32_t crc = 0;
    friend bool operator==(const Saved&, const Saved&) = default;
  };
  std::optional<SharedSchema> Find(std::string_view job, uint64_t id, Saved* saved = nullptr) const;
  // Returns the columns by metric, or nullptr if the schema is unknown.
  std::shared_ptr<const MetricColumns> Columns(std::string_view job, uint64_t id) const;
  // Adds a schema. If a schema with the same ID exists, the existing schema is kept.
  void Add(std::string_view job, const SharedSchema& schema);
  // Replaces a schema with an equal object from current batches, to keep only one copy in memory.
  void Renew(std::string_view job, const SharedSchema& schema);
  void Remove(std::string_view job);

 private:
  struct Pooled {
    SharedSchema schema;
    Saved saved;
    std::shared_ptr<const MetricColumns> columns;
  };
  using ById = absl::flat_hash_map<uint64_t, Pooled>;
  static Pooled Make(const SharedSchema& schema);
  const Pooled* Get(std::string_view job, uint64_t id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  StringMap<ById> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::history
