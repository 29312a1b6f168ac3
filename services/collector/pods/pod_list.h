// Status of pods and their containers: a PodList of the API server or the kubelet.
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

// How a container ended.
struct ContainerEnd {
  int32_t exit_code = 0;  // 128 + n where signal n ended it
  int32_t signal = 0;     // 0: not said, as by most runtimes
  std::string reason;     // Completed, Error, OOMKilled, …
  int64_t finished_at_ns = 0;
};

struct ContainerState {
  std::string name;
  std::string id;  // without the runtime's name: 64 hex digits
  std::optional<ContainerEnd> end;
};

struct PodState {
  std::string uid;
  std::string name;
  std::string namespace_name;
  std::string reason;              // Evicted, DeadlineExceeded, …: of the pod itself
  std::string disruption;          // reason of its condition DisruptionTarget
  int64_t delete_asked_at_ns = 0;  // 0: nobody has asked to delete it
  std::vector<ContainerState> containers;
  // The Job or PyTorchJob that made it and looks after it; empty: another kind, or none.
  JobReference controller;
};

// InvalidArgument: no PodList, or longer than `max_bytes`; names the place. Pods without a uid are
// passed over. A container that was restarted is there twice: as it is now, and as it was before.
StatusOr<std::vector<PodState>> ParsePodList(std::string_view json, size_t max_bytes);

// What a container's end is to the ranks in it. On purpose: somebody asked to delete the pod before
// the container ended, the scheduler preempted it, or its deadline passed. An eviction by the
// kubelet is not: the node is short of something.
PlatformEnd EndOf(const PodState& pod, const ContainerEnd& container);

// The container that a process runs in, by the text of its /proc/<pid>/cgroup, and only below the
// groups that the kubelet makes (services/model/owner.h). "" when in none.
std::string ContainerOfCgroup(std::string_view text);

}  // namespace pitwall::collector
