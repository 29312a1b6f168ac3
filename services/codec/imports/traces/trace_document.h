// The frame around Chrome traces, taken apart as the bytes come: an array of events, or an object
// with the array `traceEvents`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

struct TraceLimits {
  size_t event_bytes = size_t{1} << 20;  // of one event, or one member beside them
  size_t events = 10'000'000;            // that a reader keeps
};

// Skips and counts what is invalid among the events: an event that is not an object, is too long,
// or that its reader rejects, and the rest of the file behind a fault that leaves no structure. Of
// an array the closing bracket may be missing, since writers that die write none. Not thread-safe.
class TraceDocument {
 public:
  // Takes the text of one event, an object, valid during the call. InvalidArgument skips the event;
  // any other error stops the reader. File and line are put before both.
  using OnEvent = std::function<Status(std::string_view json, uint32_t line)>;
  // The same for members beside `traceEvents`, before or after them; every error stops the reader.
  using OnMember = std::function<Status(std::string_view key, std::string_view json)>;

  // `wanted`: whether a member is passed on; others may be of any length. `skipped` is borrowed.
  TraceDocument(std::string name, OnEvent on_event, OnMember on_member,
                std::function<bool(std::string_view key)> wanted, lenient::SkippedRecords* skipped,
                const TraceLimits& limits = {});

  // InvalidArgument: no trace; ResourceExhausted: a limit. After an error nothing more is read.
  Status Feed(std::string_view bytes);
  Status Finish();
  const std::string& name() const { return name_; }
  // After Finish: whether the file ends, or is damaged, in the middle of an object's events, so
  // that members behind them are unknown.
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
  void BeginValue(char c);
  // Whether the value ended before or with `c`; `*used`: with it. The error has no place.
  StatusOr<bool> TakeValue(char c, bool* used);
  Status ValueEnded();
  Status EventEnded();
  // Skips an event that begins at `line`.
  void Skip(uint32_t line, std::string_view cause);
  // Of a fault among the events: what follows is skipped.
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
  bool object_ = false;  // the events stand in one
  bool had_events_ = false;
  bool cut_ = false;
  uint32_t line_ = 1;
  size_t mark_bytes_ = 0;  // of the mark at the file's start

  // The value that is being read.
  bool in_value_ = false;
  bool keep_ = true;
  bool in_string_ = false;
  bool escaped_ = false;
  bool scalar_ = false;
  bool too_long_ = false;
  std::string brackets_;  // that are open
  uint32_t value_line_ = 1;
  std::string text_;
  std::string key_;
};

}  // namespace pitwall::imports
