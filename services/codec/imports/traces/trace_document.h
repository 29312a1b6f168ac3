// Streaming parser for the outer structure of Chrome traces: an array of events, or an object with
// the array `traceEvents`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/codec/imports/traces/trace_value.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

struct TraceLimits {
  size_t event_bytes = size_t{1} << 20;  // limit for one event, or one member next to the events
  size_t events = 10'000'000;            // maximum number of events that a reader keeps
};

// Skips and counts invalid events: those that are not objects, are too long, or are rejected by the
// reader, and the rest of the file after an error that breaks the structure. The closing bracket of
// an array may be missing, because crashed writers do not write it. Not thread-safe.
class TraceDocument {
 public:
  // Receives the text of one event, which is an object. The text is valid only during the call.
  // InvalidArgument skips the event, and any other error stops the reader. The parser prefixes both
  // with file and line.
  using OnEvent = std::function<Status(std::string_view json, uint32_t line)>;
  // Receives members before or after `traceEvents` in the same way, but every error stops the
  // reader.
  using OnMember = std::function<Status(std::string_view key, std::string_view json)>;

  // `wanted` returns true for members to pass on. Other members may have any length. `skipped` is
  // not owned.
  TraceDocument(std::string name, OnEvent on_event, OnMember on_member,
                std::function<bool(std::string_view key)> wanted, lenient::SkippedRecords* skipped,
                const TraceLimits& limits = {});

  // Reads the next bytes. Returns InvalidArgument if the file is not a trace, and ResourceExhausted
  // if a limit is exceeded. After an error, the parser reads nothing further.
  Status Feed(std::string_view bytes);
  Status Finish();
  const std::string& name() const { return name_; }
  // Returns true if the file is truncated or damaged within an object's events, so that later
  // members are unknown. Valid after Finish.
  bool cut() const { return cut_ && object_; }

 private:
  enum class State {
    kStart,
    kKey,
    kColon,
    kMember,
    kAfterMember,
    kEvent,
    kAfterEvent,
    kEnd,
    kLost
  };

  Status Take(char c);
  Status ValueEnded();
  Status EventEnded();
  // Skips an event that starts at `line`.
  void Skip(uint32_t line, std::string_view cause);
  // Reports an error among the events, and skips the rest.
  Status Lose(std::string_view cause);
  std::string Place(uint32_t line) const;
  Status Error(std::string_view what) const;

  const std::string name_;
  const OnEvent on_event_;
  const OnMember on_member_;
  const std::function<bool(std::string_view)> wanted_;
  lenient::SkippedRecords* const skipped_;
  const TraceLimits limits_;

  State state_ = State::kStart;
  bool object_ = false;  // the events are inside an object
  bool had_events_ = false;
  bool cut_ = false;
  uint32_t line_ = 1;
  size_t mark_bytes_ = 0;  // bytes of the byte order mark at the start of the file

  TraceValue value_;  // value being read
  std::string key_;
};

}  // namespace pitwall::imports
