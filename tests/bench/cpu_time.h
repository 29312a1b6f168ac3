// CPU time of a benchmark.
#pragma once

#include <sys/resource.h>

namespace pitwall::bench {

// Returns the CPU time of this process in nanoseconds, in user and kernel mode.
inline double CpuNs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return (seconds(usage.ru_utime) + seconds(usage.ru_stime)) * 1e9;
}

}  // namespace pitwall::bench
