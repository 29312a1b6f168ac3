#include "services/insights/keep/schema_pool.h"

namespace pitwall::insights {

std::optional<SharedSchema> SchemaPool::Find(std::string_view job, uint64_t id) const {
  MutexLock lock(&mutex_);
  const auto of_job = jobs_.find(job);
  if (of_job == jobs_.end()) return std::nullopt;
  const auto at = of_job->second.find(id);
  if (at == of_job->second.end()) return std::nullopt;
  return at->second;
}

void SchemaPool::Add(std::string_view job, const SharedSchema& schema) {
  MutexLock lock(&mutex_);
  jobs_[std::string(job)].try_emplace(schema->id, schema);
}

void SchemaPool::Remove(std::string_view job) {
  MutexLock lock(&mutex_);
  jobs_.erase(job);
}

}  // namespace pitwall::insights
