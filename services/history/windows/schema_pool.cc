#include "services/history/windows/schema_pool.h"

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"
#include "services/codec/schema_binary.h"
#include "services/model/matcher.h"

namespace pitwall::history {

SchemaPool::Pooled SchemaPool::Make(const SharedSchema& schema) {
  auto columns = std::make_shared<MetricColumns>();
  for (size_t i = 0; i < schema->series.size(); ++i) {
    const Labels& labels = schema->series[i].labels;
    const bool named = !labels.empty() && labels.begin()->name == kMetricName;
    std::vector<uint32_t>& to =
        named ? columns->of_metric[std::string(labels.begin()->value)] : columns->unnamed;
    to.push_back(static_cast<uint32_t>(i));
  }
  BinaryWriter bytes;
  codec::SaveSchema(*schema, bytes);
  return {schema, {bytes.data().size(), Crc32c(bytes.data())}, std::move(columns)};
}

const SchemaPool::Pooled* SchemaPool::Get(std::string_view job, uint64_t id) const {
  const auto of_job = jobs_.find(job);
  if (of_job == jobs_.end()) return nullptr;
  const auto at = of_job->second.find(id);
  return at == of_job->second.end() ? nullptr : &at->second;
}

std::optional<SharedSchema> SchemaPool::Find(std::string_view job, uint64_t id,
                                             Saved* saved) const {
  MutexLock lock(&mutex_);
  const Pooled* const pooled = Get(job, id);
  if (pooled == nullptr) return std::nullopt;
  if (saved != nullptr) *saved = pooled->saved;
  return pooled->schema;
}

std::shared_ptr<const MetricColumns> SchemaPool::Columns(std::string_view job, uint64_t id) const {
  MutexLock lock(&mutex_);
  const Pooled* const pooled = Get(job, id);
  return pooled == nullptr ? nullptr : pooled->columns;
}

void SchemaPool::Add(std::string_view job, const SharedSchema& schema) {
  {
    MutexLock lock(&mutex_);
    if (Get(job, schema->id) != nullptr) return;
  }
  Pooled pooled = Make(schema);
  MutexLock lock(&mutex_);
  jobs_[std::string(job)].try_emplace(schema->id, std::move(pooled));
}

void SchemaPool::Renew(std::string_view job, const SharedSchema& schema) {
  std::optional<SharedSchema> known = Find(job, schema->id);
  if (!known.has_value() || &**known == &*schema || (*known)->series != schema->series) return;
  MutexLock lock(&mutex_);
  const auto of_job = jobs_.find(job);
  if (of_job == jobs_.end()) return;
  const auto at = of_job->second.find(schema->id);
  if (at != of_job->second.end()) at->second.schema = schema;
}

void SchemaPool::Remove(std::string_view job) {
  MutexLock lock(&mutex_);
  jobs_.erase(job);
}

}  // namespace pitwall::history
