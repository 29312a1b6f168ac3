// Owner of a job as a string: "uid:1000", "pod:<UID of a Kubernetes pod>", or "" if unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// Returns the owner of a process: its pod if it runs in one, otherwise its effective user. The text
// is the same on all nodes for the same user. Returns "" if both are unknown (uid -1, no pod).
std::string OwnerOf(int64_t uid, std::string_view pod);

// Validates an owner. Returns InvalidArgument if it is neither uid:<number> nor pod:<uid>.
Status CheckOwner(std::string_view owner);

// Returns the pod of a process from the text of its /proc/<pid>/cgroup, or "". Considers only
// cgroups below the kubelet's, because users can create cgroups with arbitrary names.
std::string PodOfCgroup(std::string_view text);

// Returns a short name for metrics: root, user, pod, or unknown.
std::string_view OwnerClass(std::string_view owner);

// Returns the ID prefix of the owner's undeclared jobs: "u1000:" or "pod-<uid>:".
std::string OwnerIdPrefix(std::string_view owner);
// Returns the owner for whom job IDs of this form are reserved, or "".
std::string OwnerOfJobId(std::string_view job_id);

}  // namespace pitwall
