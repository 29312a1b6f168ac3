// The node's first word about each job.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "services/base/mutex.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/publishing/publisher.h"

namespace pitwall::collector {

// Says that the node is a source of a job before anybody here promises anything about that job: a
// watermark that waits for the node cannot pass the node's first row (time-model.md 1.3). The
// socket thread announces when a client says hello, the sampler when it begins with a job that
// nobody has announced; what follows is the sampler's. Thread-safe.
class NodeAnnouncer {
 public:
  // `new_boot_id` is asked once here and once per NewBoot. The publisher is borrowed.
  NodeAnnouncer(std::string node, int64_t join_slack_ns, std::function<std::string()> new_boot_id,
                Publisher* publisher);

  // The node as a source of one job, as it was announced.
  struct Source {
    std::string boot_id;
    int64_t start_ns = 0;
    SourceState state;
  };
  // Announces, unless that was done before; the promise lies just before the tick that was begun
  // last. Returns what was announced.
  Source Announce(const std::string& job, const std::string& owner, bool owner_declared);
  // The node has said goodbye to the job: the next announcement is of another boot.
  void Forget(const std::string& job);

  // The sampler begins this tick: no row of a job that is announced from here on is older.
  void Begin(int64_t tick_ns, int64_t interval_ns);
  void NewBoot();  // forgets all

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
