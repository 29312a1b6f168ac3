#include "services/collector/publishing/node_announcer.h"

#include <utility>

#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::collector {

NodeAnnouncer::NodeAnnouncer(std::string node, int64_t join_slack_ns,
                             std::function<std::string()> new_boot_id, Publisher* publisher)
    : node_(std::move(node)),
      join_slack_ns_(join_slack_ns),
      new_boot_id_(std::move(new_boot_id)),
      sender_(publisher),
      boot_id_(new_boot_id_()) {}

NodeAnnouncer::Source NodeAnnouncer::Announce(const std::string& job, const std::string& owner,
                                              bool owner_declared) {
  MutexLock lock(&mutex_);
  const auto [at, fresh] = announced_.try_emplace(job);
  Source& source = at->second;
  if (!fresh) return source;
  // Sequence numbers are assigned per job and start at 1, so each job needs a separate boot ID.
  source.boot_id = Cat(boot_id_, ".", next_++);
  source.start_ns = tick_ns_;  // a new boot ID ends the previous boot
  source.state.promise_ns = tick_ns_ - join_slack_ns_ - 1;
  Batch batch;
  batch.job = job;
  batch.owner = owner;
  batch.owner_declared = owner_declared;
  batch.source = Cat("node@", node_);
  batch.boot_id = source.boot_id;
  batch.info.kind = SourceKind::kNode;
  batch.info.node = node_;
  batch.info.start = EventTime::FromNs(source.start_ns);
  batch.info.interval = Duration::Nanos(interval_ns_);
  batch.promise = EventTime::FromNs(source.state.promise_ns);
  sender_.Send(std::move(batch), &source.state);
  return source;
}

void NodeAnnouncer::Forget(const std::string& job) {
  MutexLock lock(&mutex_);
  announced_.erase(job);
}

void NodeAnnouncer::Begin(int64_t tick_ns, int64_t interval_ns) {
  MutexLock lock(&mutex_);
  tick_ns_ = tick_ns;
  interval_ns_ = interval_ns;
}

void NodeAnnouncer::NewBoot() {
  std::string boot_id = new_boot_id_();
  MutexLock lock(&mutex_);
  boot_id_ = std::move(boot_id);
  next_ = 0;
  announced_.clear();
}

}  // namespace pitwall::collector
