// Responses of /healthz and /readyz, which report the state of the log and all services.
#include "services/app/host/service_host.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

// Maximum age of the last commit. A partition commits at each clock tick, so without commits its
// rules are not evaluated.
constexpr int64_t kMaxCommitAgeNs = 12 * kNanosPerSecond;

}  // namespace

Status ServiceHost::LogHealth() const {
  if (embedded_log_ == nullptr) return OkStatus();
  const int64_t suspended = embedded_log_->Stats().suspended_partitions;
  if (suspended > 0) {
    return Unavailable(
        Cat("log: ", suspended, " partitions cannot be flushed and do not accept records"));
  }
  for (const log::DamageCount& damage : embedded_log_->DamageCounts()) {
    if (damage.healed) continue;
    return Unavailable(Cat(
        "log: damage (", log::DamageKindName(damage.kind), damage.topic.empty() ? "" : " in topic ",
        damage.topic, "); stop the service and run `pitwall log check ", config_.data_dir, "`"));
  }
  return OkStatus();
}

Status ServiceHost::Ready() const {
  if (processor_ != nullptr) {
    if (const auto faults = processor_->faults(); !faults.empty())
      return Unavailable(Cat("processor: ", faults[0]));
    if (!processor_->ready()) return Unavailable("processor: still restoring state");
    for (const processor::PartitionStats& stats : processor_->stats()) {
      const int64_t age_ns = clock_.MonotonicNs() - stats.last_commit_ns;
      if (age_ns < kMaxCommitAgeNs) continue;
      return Unavailable(Cat("processor: partition ", stats.partition, ": no commit for ",
                             age_ns / kNanosPerSecond, " s; does the log accept records?"));
    }
  }
  if (notifier_ != nullptr && !notifier_->Ready())
    return Unavailable("notifier: still loading the issue history");
  if (executor_ != nullptr && !executor_->Ready())
    return Unavailable("executor: still reading earlier decisions");
  // Insights affects readiness only if it is the only service in the process.
  if (insights_ != nullptr && service_ == "insights") return insights_->Ready();
  return OkStatus();
}

}  // namespace pitwall
