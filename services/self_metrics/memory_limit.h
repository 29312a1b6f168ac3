// Memory limit of this process.
#pragma once

#include <cstddef>
#include <string>

namespace pitwall::self_metrics {

struct MemoryLimit {
  size_t bytes = 0;
  std::string source;  // source of the limit: "RAM", "cgroup …", "ulimit -v"
};

// Returns the minimum of the machine's RAM, the limits of the cgroup and its ancestors, and
// RLIMIT_AS. `root` is prepended to every path, for tests.
MemoryLimit FindMemoryLimit(const std::string& root = "");

}  // namespace pitwall::self_metrics
