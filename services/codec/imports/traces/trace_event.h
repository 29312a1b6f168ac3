// Parser for a single Chrome trace event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::imports {

// 1973-03-03 in nanoseconds. Later times are Unix times; earlier times count from the start of a
// profile or a machine.
inline constexpr int64_t kFirstUnixTimeNs = 100'000'000'000'000'000;

// Absent strings are empty. Numbers given instead of strings (pid, tid, step_num) are converted to
// strings.
struct TraceEvent {
  char phase = 0;  // M, X, B, or E
  std::string name, category, pid, tid;
  int64_t start_ns = 0;     // since the start of the trace's clock; for X, B, and E
  int64_t duration_ns = 0;  // for X
  // InvalidArgument if the event has no valid times. Readers check the status only for events that
  // they use, because writers leave invalid times in other events.
  Status times;
  // Arguments that are numbers, strings, or booleans.
  std::vector<std::pair<std::string, std::string>> args;

  std::string_view Arg(std::string_view key) const {
    for (const auto& [name_of, value] : args) {
      if (name_of == key) return value;
    }
    return {};
  }
};

// Parses an event; `json` must be an object. Returns nullopt for phases other than M, X, B, and E,
// which no reader uses. Times are numbers or, from Ascend's profiler, strings. Returns
// InvalidArgument if the text is not JSON.
StatusOr<std::optional<TraceEvent>> ReadTraceEvent(std::string_view json);

}  // namespace pitwall::imports
