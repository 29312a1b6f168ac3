#include "services/app/host/roles/followed_rules.h"

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/partition_processor.h"

namespace pitwall {

constexpr int64_t kLookNs = 10 * kNanosPerSecond;

std::string FollowedRules::HashInForce() {
  const StatusOr<int32_t> partitions = log_->Partitions(kTelemetryTopic);
  if (!partitions.ok()) return "";
  for (int32_t p = 0; p < *partitions; ++p) {
    const auto committed =
        log_->Committed(processor::PartitionOptions().group, {std::string(kTelemetryTopic), p});
    if (!committed.ok()) return "";  // avoids a timeout per partition if the log does not respond
    if (!committed->has_value()) continue;
    const auto metadata = processor::ParseCommitMetadata((*committed)->metadata);
    if (metadata.ok() && !metadata->rules.empty()) return metadata->rules;
  }
  return "";
}

engine::CompiledRulesPtr FollowedRules::Get() {
  const MutexLock lock(&mutex_);
  const int64_t now = clock_->MonotonicNs();
  if (now < next_look_ns_) return rules_;
  next_look_ns_ = now + kLookNs;
  const std::string hash = HashInForce();
  if (hash.empty() || (rules_ != nullptr && rules_->hash() == hash)) return rules_;
  if (auto loaded = sets_.Load(hash); loaded.ok()) {
    rules_ = *std::move(loaded);
  } else {
    PITWALL_LOG(kWarning, "insights",
                "active rules cannot be read: ", ToStd(loaded.status().message()));
  }
  return rules_;
}

}  // namespace pitwall
