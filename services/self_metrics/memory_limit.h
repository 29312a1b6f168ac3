// Memory limit of this process.
#pragma once

#include <cstddef>
#include <string>

namespace pitwall::self_metrics {

struct MemoryLimit {
  size_t bytes = 0;
  std::string source;  // what says so: "RAM", "cgroup …", "ulimit -v"
};

// The least of the machine's RAM, the limits of the cgroup and the ones above it, and RLIMIT_AS.
// `root` is put before each path: tests have one of their own.
MemoryLimit FindMemoryLimit(const std::string& root = "");

}  // namespace pitwall::self_metrics
