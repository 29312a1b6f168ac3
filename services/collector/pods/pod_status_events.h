// Events of jobs from the status of the pods of their ranks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/collector/jobs/job_registry.h"
#include "services/collector/pods/pod_watch.h"
#include "services/collector/publishing/batch_sender.h"
#include "services/collector/readers/event_time.h"
#include "services/model/issues/platform_end.h"

namespace pitwall::collector {

// A source of its own, pods@<node>, that promises nothing: no watermark waits for it, and it may
// still speak when node and ranks have left the job. One thread. JobRegistry and publisher are
// borrowed.
class PodStatusEvents {
 public:
  PodStatusEvents(std::string node, std::string boot_id, const JobRegistry* bindings,
                  Publisher* publisher, const EventTime& time);

  // The ranks that are here, with their processes.
  std::vector<PodWatch::Rank> Here() const;
  // `end`: nothing announces that it will be told.
  void Tell(const PodWatch::Rank& rank, const std::optional<PlatformEnd>& end);

 private:
  static constexpr size_t kMaxJobs = 1024;  // of the newest the numbers are remembered

  const std::string node_;
  const std::string boot_id_;
  const JobRegistry* const bindings_;
  const EventTime& time_;
  BatchSender sender_;
  std::map<std::string, SourceState, std::less<>> jobs_;
  uint64_t generation_ = 0;  // of the boot id: grows when the numbers are forgotten
};

}  // namespace pitwall::collector
