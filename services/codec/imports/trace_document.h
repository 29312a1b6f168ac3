// The frame around Chrome traces, taken apart as the bytes come: an array of events, or an object
// with the array `traceEvents`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace pitwall::imports {

struct TraceLimits {
  size_t event_bytes = size_t{1} << 20;  // of one event, or one member beside them
  size_t events = 10'000'000;            // that a reader keeps
};

// Of an array the closing bracket may be missing, since writers that die write none; an object
// must be whole. Not thread-safe.
class TraceDocument {
 public:
  // The text of one event, an object. Valid during the call. An error stops the reader, which puts
  // file and line before it.
  using OnEvent = std::function<Status(std::string_view json, uint32_t line)>;
  // The same for members beside `traceEvents`, before or after them.
  using OnMember = std::function<Status(std::string_view key, std::string_view json)>;

  // `wanted`: whether a member is told; others may be of any length.
  TraceDocument(std::string name, OnEvent on_event, OnMember on_member,
                std::function<bool(std::string_view key)> wanted, const TraceLimits& limits = {});

  // InvalidArgument: no trace; ResourceExhausted: a limit. After an error nothing more is read.
  Status Feed(std::string_view bytes);
  Status Finish();

 private:
  enum class State { kStart, kKey, kColon, kMember, kAfterMember, kEvent, kAfterEvent, kEnd };

  Status Take(char c);
  void BeginValue(char c);
  // Whether the value ended before or with `c`; `*used`: with it.
  StatusOr<bool> TakeValue(char c, bool* used);
  Status ValueEnded();
  Status Error(std::string_view what) const;

  const std::string name_;
  const OnEvent on_event_;
  const OnMember on_member_;
  const std::function<bool(std::string_view)> wanted_;
  const TraceLimits limits_;

  State state_ = State::kStart;
  bool object_ = false;  // the events stand in one
  bool had_events_ = false;
  uint32_t line_ = 1;
  size_t skipped_ = 0;  // bytes of the mark at the file's start

  // The value that is being read.
  bool in_value_ = false;
  bool keep_ = true;
  bool in_string_ = false;
  bool escaped_ = false;
  bool scalar_ = false;
  std::string brackets_;  // that are open
  uint32_t value_line_ = 1;
  std::string text_;
  std::string key_;
};

}  // namespace pitwall::imports
