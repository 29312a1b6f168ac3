// Job events derived from the status of the pods that run a job's ranks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/collector/jobs/job_registry.h"
#include "services/collector/pods/pod_watch.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/readers/monotonic_event_clock.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::collector {

// A separate source, pods@<node>, that sends no promises. Watermarks therefore do not wait for it,
// and it can publish events after the node and the ranks have left the job. Not thread-safe. The
// caller owns the JobRegistry and the publisher.
class PodStatusEvents {
 public:
  PodStatusEvents(std::string node, std::string boot_id, const JobRegistry* bindings,
                  Publisher* publisher, const MonotonicEventClock& time);

  // Returns the ranks on this node with their processes.
  std::vector<PodWatch::Rank> Here() const;
  // Publishes the end of a rank. Without `end`, announces that the end will follow.
  void Publish(const PodWatch::Rank& rank, const std::optional<PlatformEnd>& end);

 private:
  static constexpr size_t kMaxJobs = 1024;  // number of jobs whose sequences are remembered

  const std::string node_;
  const std::string boot_id_;
  const JobRegistry* const bindings_;
  const MonotonicEventClock& time_;
  BatchSender sender_;
  std::map<std::string, SourceState, std::less<>> jobs_;
  uint64_t generation_ = 0;  // suffix of the boot ID; incremented when the sequences are forgotten
};

}  // namespace pitwall::collector
