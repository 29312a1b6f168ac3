// Jobs on this node, as targets for the node's rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/collector/capture/capture_state_series.h"
#include "services/collector/gpu/gpu_monitor.h"
#include "services/collector/jobs/job_registry.h"
#include "services/collector/node_streams.h"
#include "services/collector/node_target.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/node_announcer.h"
#include "services/collector/readers/monotonic_event_clock.h"

namespace pitwall::collector {

// The targets are the bound jobs and node:<name>. At least every second, a batch is published for
// each target. Its promise is the last tick minus the slack.
//
//  * node:<name> always receives the system and all GPUs, but receives the cores only while no job
//    is bound.
//  * A job receives the system, the cores, its processes, its cgroup, and its GPUs. The only job
//    on a node receives all GPUs; otherwise, each job receives its declared GPUs. If any job with
//    BoundJob::present has no declared GPUs, no job receives any GPUs, and each job receives a
//    notice.
//
// Owned by the sampler's thread.
class NodeTargets {
 public:
  // `gpus` and `capture_states` may be null. The caller owns all arguments.
  NodeTargets(const ReaderContext& context, int64_t join_slack_ns, const Clock& clock,
              const MonotonicEventClock& time, JobRegistry* bindings, const GpuMonitor* gpus,
              NodeAnnouncer* announcer, BatchSender* sender, CaptureStates* capture_states);

  // Discards the rows that all jobs share. Must be called at the start of a boot.
  void Boot(int64_t tick_ns);
  // Applies changed bindings and releases jobs that have ended by `now_ns` (monotonic).
  void Sync(const NodeTick& tick, int64_t now_ns);
  // Assigns the GPUs to the jobs.
  void SplitGpus(int64_t tick_ns);
  // Appends one row to each stream.
  void Sample(int64_t tick_ns);
  // Publishes all rows if they are due.
  void PublishDue(const NodeTick& tick);
  // Publishes the remaining rows, sends the node's goodbye to each job, and forgets all jobs.
  void EndAll(const NodeTick& tick);

 private:
  void SyncBindings(const NodeTick& tick);
  void SyncTargets(const NodeTick& tick);
  void SyncTarget(const BoundJob& job, const NodeTick& tick);
  std::vector<EndedJob> Unbound(const std::vector<BoundJob>& jobs) const;
  NodeTarget& AddTarget(const BoundJob& job, bool is_node, const NodeTick& tick);
  void FindCgroups();
  void Publish(const NodeTick& tick, int64_t promise_ns);
  void End(const std::vector<EndedJob>& over, const NodeTick& tick);

  const ReaderContext context_;
  const int64_t join_slack_ns_;
  const MonotonicEventClock& time_;
  JobRegistry* const bindings_;
  const GpuMonitor* const gpus_;
  NodeAnnouncer* const announcer_;
  BatchSender* const sender_;
  CaptureStates* const capture_states_;
  SharedStreams shared_;
  uint64_t bindings_version_ = 0;
  int64_t last_publish_ns_ = 0;
  std::map<std::string, NodeTarget, std::less<>> targets_;  // by job ID
};

}  // namespace pitwall::collector
