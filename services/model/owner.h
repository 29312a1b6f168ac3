// Owners of jobs as text: "uid:1000" or "pod:<uid of a Kubernetes pod>"; "" is unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall {

// The owner that a process has: its pod where it runs in one, else its effective user. Two nodes
// give the same text for the same user. "" when neither is known (uid -1, no pod).
std::string OwnerOf(int64_t uid, std::string_view pod);

// InvalidArgument: neither uid:<number> nor pod:<uid>.
Status CheckOwner(std::string_view owner);

// The pod that a process runs in, by the text of its /proc/<pid>/cgroup: only below the groups that
// the kubelet makes, since a user may name groups of his own as he likes. "" when in none.
std::string PodOfCgroup(std::string_view text);

// A short name for metrics, of which there are four: root, user, pod, unknown.
std::string_view OwnerClass(std::string_view owner);

// The prefix of the ids that the owner's undeclared jobs get: "u1000:", "pod-<uid>:".
std::string OwnerIdPrefix(std::string_view owner);
// The owner to which ids of this form are reserved, or "".
std::string OwnerOfJobId(std::string_view job_id);

}  // namespace pitwall
