// Announces the node to each job with the node's first batch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "services/base/mutex.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/publisher.h"

namespace pitwall::collector {

// Announces the node as a source of a job before any local source sends a promise for that job.
// Watermarks then wait for the node and cannot pass the node's first row (time-model.md 1.3). The
// socket thread announces the node when a client sends its hello. The sampler announces the node
// when it starts sampling a job that has no announcement yet, and sends all later batches.
// Thread-safe.
class NodeAnnouncer {
 public:
  // `new_boot_id` is called once by the constructor and once per NewBoot. The caller owns the
  // publisher.
  NodeAnnouncer(std::string node, int64_t join_slack_ns, std::function<std::string()> new_boot_id,
                Publisher* publisher);

  // The node as a source announced to one job.
  struct Source {
    std::string boot_id;
    int64_t start_ns = 0;
    SourceState state;
  };
  // Announces the node to the job unless it is announced already. The promise is just before the
  // sampler's current tick. Returns the announced source.
  Source Announce(const std::string& job, const std::string& owner, bool owner_declared);
  // Forgets a job after the node has sent its goodbye. The next announcement uses a new boot ID.
  void Forget(const std::string& job);

  // Starts a sampler tick. Jobs announced after this call get no rows older than this tick.
  void Begin(int64_t tick_ns, int64_t interval_ns);
  void NewBoot();  // forgets all jobs

 private:
  const std::string node_;
  const int64_t join_slack_ns_;
  const std::function<std::string()> new_boot_id_;
  Mutex mutex_;
  BatchSender sender_ ABSL_GUARDED_BY(mutex_);
  std::string boot_id_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t tick_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t interval_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Source, std::less<>> announced_ ABSL_GUARDED_BY(mutex_);  // by job
};

}  // namespace pitwall::collector
