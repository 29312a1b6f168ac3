// Process at the other end of a connection, and the name by which actions refer to a process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/model/job.h"

namespace pitwall::collector {

// What the kernel says (SO_PEERCRED).
struct Peer {
  int64_t pid = 0;   // as this process sees it; 0: not known
  int64_t uid = -1;  // -1: not known
  std::string pod;   // uid of the Kubernetes pod that it runs in; "": none
};

// The pod of a process, by its control group; "": in none, or gone.
std::string PodOf(const std::string& root, int64_t pid);

// Names exactly the peer's process: its start tells it from a later one with the same number. Empty
// when there is none that the kernel vouches for: it is not known, gone, or its number belongs to a
// process of another user by now.
JobReference ProcessReference(const std::string& root, std::string_view node, const Peer& peer);

}  // namespace pitwall::collector
