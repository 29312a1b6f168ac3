// Schemas of jobs, each in memory once: every segment of a job names the same thousands of series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "services/base/mutex.h"
#include "services/base/strings.h"
#include "services/model/telemetry.h"

namespace pitwall::insights {

// As many as jobs have, which are in memory for as long as their job is. Thread-safe.
class SchemaPool {
 public:
  std::optional<SharedSchema> Find(std::string_view job, uint64_t id) const;
  // What the pool has of that id already stays.
  void Add(std::string_view job, const SharedSchema& schema);
  void Remove(std::string_view job);

 private:
  using ById = absl::flat_hash_map<uint64_t, SharedSchema>;

  mutable Mutex mutex_;
  StringMap<ById> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::insights
