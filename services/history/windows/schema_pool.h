// Schemas of jobs, each in memory once: every segment of a job names the same thousands of series.
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

// Which columns of a schema are of a metric, so that a question need not look at all of its labels.
struct MetricColumns {
  StringMap<std::vector<uint32_t>> of_metric;  // ascending
  std::vector<uint32_t> unnamed;               // the name is not their first label
};

// As many as jobs have, which are in memory for as long as their job is. Thread-safe.
class SchemaPool {
 public:
  // `saved`, where not null: what codec::SaveSchema writes of it.
  struct Saved {
    size_t bytes = 0;
    uint32_t crc = 0;
    friend bool operator==(const Saved&, const Saved&) = default;
  };
  std::optional<SharedSchema> Find(std::string_view job, uint64_t id, Saved* saved = nullptr) const;
  // Null: the pool has no such schema.
  std::shared_ptr<const MetricColumns> Columns(std::string_view job, uint64_t id) const;
  // What the pool has of that id already stays.
  void Add(std::string_view job, const SharedSchema& schema);
  // Another object of a schema that the pool has, equal to it, takes its place: the one that
  // batches carry now, so that it is in memory once.
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
