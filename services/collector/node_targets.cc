#include "services/collector/node_targets.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/readers/job_cgroup.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kPublishNs = 500 * kNanosPerMilli;  // minimum time between batches

}  // namespace

NodeTargets::NodeTargets(const ReaderContext& context, int64_t join_slack_ns, const Clock& clock,
                         const MonotonicEventClock& time, JobRegistry* bindings,
                         const GpuMonitor* gpus, NodeAnnouncer* announcer, BatchSender* sender,
                         CaptureStates* capture_states)
    : context_(context),
      join_slack_ns_(join_slack_ns),
      time_(time),
      bindings_(bindings),
      gpus_(gpus),
      announcer_(announcer),
      sender_(sender),
      capture_states_(capture_states),
      shared_(context_, clock, time) {}

void NodeTargets::Boot(int64_t tick_ns) {
  last_publish_ns_ = tick_ns;
  bindings_version_ = 0;
  shared_.Clear();
}

void NodeTargets::Sync(const NodeTick& tick, int64_t now_ns) {
  SyncBindings(tick);  // jobs that start and end between two ticks must be published too
  End(bindings_->Expire(now_ns), tick);
  SyncBindings(tick);
}

void NodeTargets::SyncBindings(const NodeTick& tick) {
  if (bindings_->version() == bindings_version_) return;
  // Rows that were sampled before the change belong to the previous targets.
  if (!targets_.empty() && last_publish_ns_ < tick.time_ns) Publish(tick, last_publish_ns_);
  SyncTargets(tick);
}

void NodeTargets::SyncTargets(const NodeTick& tick) {
  const std::vector<BoundJob> jobs = bindings_->Jobs(&bindings_version_);
  End(Unbound(jobs), tick);
  BoundJob node_job;
  node_job.id = Cat("node:", context_.node);
  const auto known = targets_.find(node_job.id);
  NodeTarget& node = known == targets_.end() ? AddTarget(node_job, true, tick) : known->second;
  for (const BoundJob& job : jobs) SyncTarget(job, tick);
  node.streams().SetCores(jobs.empty());
  FindCgroups();
  context_.counters->jobs.store(jobs.size(), std::memory_order_relaxed);
}

std::vector<EndedJob> NodeTargets::Unbound(const std::vector<BoundJob>& jobs) const {
  // If a job is unbound but has not ended, its file was removed.
  std::vector<EndedJob> gone;
  for (const auto& [id, target] : targets_) {
    const bool bound = std::any_of(jobs.begin(), jobs.end(),
                                   [&id = id](const BoundJob& job) { return job.id == id; });
    // A job that was declared for another owner also counts as gone, because the node must rejoin
    // it as a new source.
    const bool displaced =
        !target.job().owner.empty() &&
        std::any_of(jobs.begin(), jobs.end(), [&id = id, &target = target](const BoundJob& job) {
          return job.id == id && job.owner != target.job().owner;
        });
    if ((!bound || displaced) && !target.is_node()) gone.push_back({id, false, "", {}});
  }
  return gone;
}

void NodeTargets::SyncTarget(const BoundJob& job, const NodeTick& tick) {
  auto it = targets_.find(job.id);
  // A job that returns gets a new node boot.
  if (it != targets_.end() && it->second.left() && !job.deserted) {
    targets_.erase(it);
    it = targets_.end();
  }
  NodeTarget& target = it == targets_.end() ? AddTarget(job, false, tick) : it->second;
  if (target.left()) return;
  if (target.job().processes != job.processes) {
    SeriesReaders readers = ListReaders(NewProcessReader(context_, job.processes));
    if (capture_states_ != nullptr)
      readers.push_back(NewCaptureStateReader(context_, capture_states_, job.id));
    target.streams().SetProcesses(std::move(readers));
  }
  target.Update(job, tick.time_ns);
  if (!job.deserted) return;
  // The node stops sending frames to a job whose last local client has ended.
  target.Leave(shared_, tick, tick.time_ns - join_slack_ns_, sender_);
  announcer_->Forget(job.id);
}

NodeTarget& NodeTargets::AddTarget(const BoundJob& job, bool is_node, const NodeTick& tick) {
  NodeAnnouncer::Source source = announcer_->Announce(job.id, job.owner, job.owner_declared);
  const auto [it, added] =
      targets_.try_emplace(job.id, context_.node, job, is_node, std::move(source), tick.time_ns);
  NodeTarget& target = it->second;
  if (is_node && gpus_ != nullptr)
    target.streams().SetGpus(ListReaders(NewGpuReader(context_, gpus_, {})));
  return target;
}

void NodeTargets::FindCgroups() {
  std::map<std::string, int, std::less<>> users;
  std::map<std::string, std::string, std::less<>> found;
  for (const auto& [id, target] : targets_) {
    if (target.is_node() || target.left()) continue;
    const BoundJob& job = target.job();
    const std::string path =
        job.cgroup.empty() ? CgroupOf(context_.root, job.processes) : job.cgroup;
    found[id] = path;
    ++users[path];
  }
  for (auto& [id, target] : targets_) {
    if (target.is_node() || target.left()) continue;
    // If two jobs share a group, neither receives its values.
    const std::string path = users[found[id]] == 1 ? found[id] : "";
    if (!target.SetCgroup(path)) continue;
    target.streams().SetCgroup(path.empty() ? SeriesReaders()
                                            : ListReaders(NewCgroupReader(context_, path)));
  }
}

void NodeTargets::SplitGpus(int64_t tick_ns) {
  if (gpus_ == nullptr) return;
  // A job without clients uses no GPU, even if it is still bound during its grace period, so the
  // other jobs receive its GPUs.
  size_t present = 0;
  bool known = true;
  for (const auto& [id, target] : targets_) {
    if (!target.job().present) continue;
    ++present;
    known &= !target.job().gpus.empty();
  }
  const bool any = gpus_->count() > 0;  // if there are no GPUs, nothing is withheld
  for (auto& [id, target] : targets_) {
    if (target.is_node() || target.left()) continue;
    const BoundJob& job = target.job();
    const size_t jobs = present + (job.present ? 0 : 1);
    const bool withhold = jobs > 1 && !(known && !job.gpus.empty());
    if (target.ShareGpus(withhold)) {
      target.streams().SetGpus(withhold ? SeriesReaders()
                                        : ListReaders(NewGpuReader(context_, gpus_, job.gpus)));
    }
    target.NotifyWithheldGpus(withhold && any, tick_ns);
  }
}

void NodeTargets::Sample(int64_t tick_ns) {
  shared_.Sample(tick_ns);
  for (auto& [id, target] : targets_) {
    if (!target.left()) target.streams().Sample(tick_ns);
  }
}

void NodeTargets::PublishDue(const NodeTick& tick) {
  if (tick.time_ns - last_publish_ns_ < kPublishNs) return;
  last_publish_ns_ = tick.time_ns;
  Publish(tick, tick.time_ns);
}

// Publishes all rows up to `until_ns`.
void NodeTargets::Publish(const NodeTick& tick, int64_t until_ns) {
  for (auto& [id, target] : targets_) {
    if (!target.left()) target.Publish(shared_, tick, until_ns - join_slack_ns_, false, sender_);
  }
  shared_.Clear();
}

// A promise may only cover past ticks. The time between the last tick and now is not covered.
void NodeTargets::EndAll(const NodeTick& tick) {
  for (auto& [id, target] : targets_) {
    if (!target.left()) target.Publish(shared_, tick, tick.time_ns - join_slack_ns_, true, sender_);
  }
  targets_.clear();
}

void NodeTargets::End(const std::vector<EndedJob>& over, const NodeTick& tick) {
  for (const EndedJob& job : over) {
    const auto it = targets_.find(job.id);
    if (it == targets_.end()) continue;
    NodeTarget& target = it->second;
    if (job.ended) sender_->cursors()->EndJob(job.id);
    // A job end read from a file is stamped with the current time, so that it follows all known
    // process ends. The promise may cover that time, because this source sends no more data.
    const int64_t at_ns = job.platform_end.has_value() ? time_.Now() : tick.time_ns;
    const bool tells = job.ended || job.platform_end.has_value();
    if (tells) target.AddEnd(job, at_ns);
    PITWALL_LOG(kInfo, "collector", "job ", Quote(job.id),
                job.ended ? " ended: " : " has left this node", job.reason);
    if (!target.left()) announcer_->Forget(job.id);
    if (!target.left() || tells) {
      target.Publish(shared_, tick,
                     job.platform_end.has_value() ? at_ns : tick.time_ns - join_slack_ns_, true,
                     sender_);
    }
    targets_.erase(it);
  }
}

}  // namespace pitwall::collector
