// One event of a Chrome trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::imports {

// 1973-03-03, nanoseconds. Later times are Unix times; earlier ones count from the start of a
// profile or of a machine.
inline constexpr int64_t kFirstUnixTimeNs = 100'000'000'000'000'000;

// Absent texts are empty. Numbers in place of texts (pid, tid, step_num) are texts too.
struct TraceEvent {
  char phase = 0;  // M, X, B, E
  std::string name, category, pid, tid;
  int64_t start_ns = 0;     // since the start of the trace's clock; of X, B, and E
  int64_t duration_ns = 0;  // of X
  // InvalidArgument: the event has no valid times. Readers check it for the events they use, since
  // writers leave wrong times in others.
  Status times;
  std::vector<std::pair<std::string, std::string>> args;  // those that are numbers, texts or bools

  std::string_view Arg(std::string_view key) const {
    for (const auto& [name_of, value] : args) {
      if (name_of == key) return value;
    }
    return {};
  }
};

// `json`: of an object. Nothing for phases other than M, X, B and E, which no reader wants. Times
// are numbers or, as Ascend's profiler writes them, texts. InvalidArgument: not JSON.
StatusOr<std::optional<TraceEvent>> ReadTraceEvent(std::string_view json);

}  // namespace pitwall::imports
