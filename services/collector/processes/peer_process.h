// Process at the other end of a connection, and the reference that actions use to identify it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/model/job.h"

namespace pitwall::collector {

// Credentials provided by the kernel (SO_PEERCRED).
struct Peer {
  int64_t pid = 0;   // in this process's PID namespace; 0 if unknown
  int64_t uid = -1;  // -1 if unknown
  std::string pod;   // uid of the process's Kubernetes pod; "" outside of Kubernetes
};

// Returns a process's pod according to its control group. Returns "" if the process is not in a pod
// or has exited.
std::string PodOf(const std::string& root, int64_t pid);

// Returns a reference to the peer's process. The start time in the reference distinguishes the
// process from later processes with the same PID. Returns an empty reference if the kernel cannot
// confirm the process because it is unknown, it has exited, or its PID now belongs to another
// user's process.
JobReference ProcessReference(const std::string& root, std::string_view node, const Peer& peer);

}  // namespace pitwall::collector
