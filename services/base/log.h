// Log lines on stderr: "2026-11-21T14:00:00.123Z W processor: message key=value". Thread-safe. The
// library has no clock: main sets one with SetLogClock, and lines logged before that have no
// timestamp.
#pragma once

#include <string_view>

#include "services/base/text/strings.h"

namespace pitwall {

class Clock;
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sets the clock for log lines. `clock` is borrowed and must outlive all later log lines; nullptr
// removes it.
void SetLogClock(const Clock* clock);
void SetLogLevel(LogLevel least);
bool LogEnabled(LogLevel level);
void LogLine(LogLevel level, std::string_view component, std::string_view message);

}  // namespace pitwall

#define PITWALL_LOG(level, component, ...)                                                    \
  do {                                                                                        \
    if (::pitwall::LogEnabled(::pitwall::LogLevel::level))                                    \
      ::pitwall::LogLine(::pitwall::LogLevel::level, component, ::pitwall::Cat(__VA_ARGS__)); \
  } while (false)
