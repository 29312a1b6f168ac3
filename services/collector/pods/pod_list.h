// Status of pods and their containers, from a PodList of the API server or the kubelet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/issues/platform_end.h"
#include "services/model/job.h"

namespace pitwall::collector {

// End of a container.
struct ContainerEnd {
  int32_t exit_code = 0;  // 128 + n if signal n ended it
  int32_t signal = 0;     // 0: unknown, as with most runtimes
  std::string reason;     // Completed, Error, OOMKilled, …
  int64_t finished_at_ns = 0;
};

struct ContainerState {
  std::string name;
  std::string id;  // without the runtime's prefix: 64 hex digits
  std::optional<ContainerEnd> end;
};

struct PodState {
  std::string uid;
  std::string name;
  std::string namespace_name;
  std::string reason;              // of the pod itself: Evicted, DeadlineExceeded, …
  std::string disruption;          // reason of its condition DisruptionTarget
  int64_t delete_asked_at_ns = 0;  // time of the delete request; 0: none
  std::vector<ContainerState> containers;
  // The Job or PyTorchJob that controls the pod; empty: another kind, or none.
  JobReference controller;
};

// Parses a PodList. Returns InvalidArgument, with the place, if the text is not a PodList or longer
// than `max_bytes`. Skips pods without a uid. A restarted container appears twice, as its current
// and its previous instance.
StatusOr<std::vector<PodState>> ParsePodList(std::string_view json, size_t max_bytes);

// Returns a container's end as an end of its ranks. The end is on purpose if the pod was deleted
// before it, preempted by the scheduler, or past its deadline. An eviction by the kubelet is not on
// purpose, because it is caused by a resource shortage.
PlatformEnd EndOf(const PodState& pod, const ContainerEnd& container);

// Returns the container of a process from the text of its /proc/<pid>/cgroup, or "" outside of
// containers. Only groups created by the kubelet count (services/model/owner.h).
std::string ContainerOfCgroup(std::string_view text);

}  // namespace pitwall::collector
