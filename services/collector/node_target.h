// Target of the node's rows: a job, or node:<name>.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/collector/jobs/job_registry.h"
#include "services/collector/node_streams.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/node_announcer.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Last tick of the sampler, and the sampling interval of the node.
struct NodeTick {
  int64_t time_ns = 0;  // event time
  int64_t interval_ns = 0;
};

// The node's source in one job, with the job's streams and the events for the next batch. Owned by
// the sampler's thread.
class NodeTarget {
 public:
  // Uses only the ID, name, and reference of `job`; Update adds the rest. If the node is the first
  // to announce the job, the next batch contains the job's start.
  NodeTarget(std::string node, const BoundJob& job, bool is_node, NodeAnnouncer::Source source,
             int64_t tick_ns);

  const BoundJob& job() const { return job_; }
  bool is_node() const { return is_node_; }  // whether this is node:<name>
  // Whether the node has sent its goodbye because the job has no clients here.
  bool left() const { return left_; }
  JobStreams& streams() { return streams_; }

  // Applies the job's binding. Repeats the job's start if its name or reference has changed.
  void Update(const BoundJob& job, int64_t tick_ns);
  // Returns true if the cgroup has changed since the previous call. It is initially "".
  bool SetCgroup(const std::string& path);
  // Assigns the job its declared GPUs, or none if they are withheld. Returns true if the assignment
  // has changed since the previous call. In that case, the GPU readers must be replaced.
  bool ShareGpus(bool withheld);
  // Adds a notice to the next batch when the job's GPUs start or stop being withheld.
  void NotifyWithheldGpus(bool withheld, int64_t tick_ns);
  // Adds the job's end, or the exit data from its file, to the next batch.
  void AddEnd(const EndedJob& over, int64_t at_ns);

  // Publishes the events and, unless the node has left, all rows.
  void Publish(const SharedStreams& shared, const NodeTick& tick, int64_t promise_ns, bool goodbye,
               BatchSender* sender);
  // Publishes the node's goodbye. Later batches contain only events. The job's end may still be
  // published.
  void Leave(const SharedStreams& shared, const NodeTick& tick, int64_t promise_ns,
             BatchSender* sender);

 private:
  void Introduce(const BoundJob& job, int64_t tick_ns);

  const std::string node_;
  const bool is_node_;
  bool left_ = false;
  BoundJob job_;
  JobReference reference_;  // last published reference
  NodeAnnouncer::Source source_;
  JobStreams streams_;
  std::optional<std::pair<bool, std::vector<int>>> gpus_given_;  // whether any GPUs, and which
  bool gpus_noticed_ = false;  // whether the notice about withheld GPUs was published
  std::string cgroup_;
  std::vector<JobEvent> events_;  // events in the next batch
};

}  // namespace pitwall::collector
