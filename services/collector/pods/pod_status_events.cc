#include "services/collector/pods/pod_status_events.h"

#include <utility>

#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::collector {

PodStatusEvents::PodStatusEvents(std::string node, std::string boot_id, const JobRegistry* bindings,
                                 Publisher* publisher, const MonotonicEventClock& time)
    : node_(std::move(node)),
      boot_id_(std::move(boot_id)),
      bindings_(bindings),
      time_(time),
      sender_(publisher) {}

std::vector<PodWatch::Rank> PodStatusEvents::Here() const {
  uint64_t version;
  std::vector<PodWatch::Rank> ranks;
  for (const BoundJob& job : bindings_->Jobs(&version)) {
    const bool has_object =
        !job.reference.platform.empty() && job.reference.platform != kProcessPlatform;
    for (const JobProcess& process : job.processes) {
      ranks.push_back(
          {job.id, job.owner, job.owner_declared, process.rank, process.pid, has_object});
    }
  }
  return ranks;
}

void PodStatusEvents::Publish(const PodWatch::Rank& rank, const std::optional<PlatformEnd>& end) {
  if (!jobs_.contains(rank.job) && jobs_.size() >= kMaxJobs) {
    jobs_.clear();
    ++generation_;
  }
  Batch batch;
  batch.job = rank.job;
  batch.owner = rank.owner;
  batch.owner_declared = rank.owner_declared;
  batch.source = Cat("pods@", node_);
  batch.boot_id = Cat(boot_id_, "-", generation_);
  batch.info.kind = SourceKind::kForeign;
  batch.info.node = node_;
  JobEvent notice;
  notice.kind = JobEvent::Kind::kNotice;
  notice.time = EventTime::FromNs(time_.Now());
  notice.reason = kPlatformEnd;
  AddPlatformEnd(end.value_or(PlatformEnd{}), &notice);
  batch.events.push_back(std::move(notice));
  sender_.Send(std::move(batch), &jobs_[rank.job]);
}

}  // namespace pitwall::collector
