// Status of pods and their containers, parsed from a PodList from the API server or the kubelet.
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

// Termination status of a container.
struct ContainerEnd {
  int32_t exit_code = 0;  // 128 + n if signal n ended it
  int32_t signal = 0;     // 0 if unknown, as with most runtimes
  std::string reason;     // Completed, Error, OOMKilled, …
  int64_t finished_at_ns = 0;
};

struct ContainerState {
  std::string name;
  std::string id;  // 64 hex digits, without the runtime's prefix
  std::optional<ContainerEnd> end;
};

struct PodState {
  std::string uid;
  std::string name;
  std::string namespace_name;
  std::string reason;              // reason of the pod itself: Evicted, DeadlineExceeded, …
  std::string disruption;          // reason in its DisruptionTarget condition
  int64_t delete_asked_at_ns = 0;  // time of the delete request; 0 if there was none
  std::vector<ContainerState> containers;
  // The Job or PyTorchJob that controls the pod. Empty if the pod has no controller or one of
  // another kind.
  JobReference controller;
};

// Parses a PodList. Returns InvalidArgument, with the position, if the input is not a PodList or is
// longer than `max_bytes`. Skips pods without a uid. A restarted container appears twice, as its
// current and its previous instance.
StatusOr<std::vector<PodState>> ParsePodList(std::string_view json, size_t max_bytes);

// Converts a container's end to the end of its ranks. The end is intentional if the pod was deleted
// first, was disrupted on purpose (such as preempted by the scheduler), or exceeded its deadline.
// An eviction by the kubelet is not intentional, because it is caused by a resource shortage.
PlatformEnd EndOf(const PodState& pod, const ContainerEnd& container);

// Returns a process's container from the text of its /proc/<pid>/cgroup, or "" if the process is
// not in a container. Only groups created by the kubelet count (services/model/owner.h).
std::string ContainerOfCgroup(std::string_view text);

}  // namespace pitwall::collector
