#include "services/codec/imports/traces/trace_document.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::imports {

namespace {

constexpr size_t kMaxDepth = 64;
constexpr std::string_view kMark = "\xef\xbb\xbf";

constexpr std::string_view kCutShort = "the trace is truncated";
constexpr std::string_view kNoEvents = "not a trace: traceEvents is missing";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

TraceDocument::TraceDocument(std::string name, OnEvent on_event, OnMember on_member,
                             std::function<bool(std::string_view key)> wanted,
                             lenient::SkippedRecords* skipped, const TraceLimits& limits)
    : name_(std::move(name)),
      on_event_(std::move(on_event)),
      on_member_(std::move(on_member)),
      wanted_(std::move(wanted)),
      skipped_(skipped),
      limits_(limits) {}

std::string TraceDocument::Place(uint32_t line) const { return Cat(name_, ":", line, ":1"); }

Status TraceDocument::Error(std::string_view what) const {
  return InvalidArgument(Cat(Place(line_), ": ", what));
}

void TraceDocument::Skip(uint32_t line, std::string_view cause) {
  skipped_->Skip(Cat(Place(line), ": ", cause));
}

Status TraceDocument::Lose(std::string_view cause) {
  Skip(line_, cause);
  in_value_ = false;
  cut_ = true;
  state_ = State::kLost;
  return OkStatus();
}

Status TraceDocument::Feed(std::string_view bytes) {
  for (const char c : bytes) {
    RETURN_IF_ERROR(Take(c));
    if (c == '\n') ++line_;
  }
  return OkStatus();
}

void TraceDocument::BeginValue(char c) {
  in_value_ = true;
  in_string_ = c == '"';
  escaped_ = false;
  scalar_ = c != '"' && c != '{' && c != '[';
  too_long_ = false;
  brackets_.clear();
  if (c == '{' || c == '[') brackets_ += c;
  value_line_ = line_;
  text_.assign(keep_ ? 1 : 0, c);
}

StatusOr<bool> TraceDocument::TakeValue(char c, bool* used) {
  *used = true;
  if (scalar_ && (c == ',' || c == '}' || c == ']' || IsBlank(c))) {
    *used = false;
    return true;
  }
  if (keep_) {
    too_long_ |= text_.size() >= limits_.event_bytes;
    if (!too_long_) text_ += c;
  }
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return brackets_.empty();
    }
    return false;
  }
  if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    brackets_ += c;
    if (brackets_.size() > kMaxDepth) return InvalidArgument("nested too deeply");
  } else if (c == '}' || c == ']') {
    if (brackets_.empty() || brackets_.back() != (c == '}' ? '{' : '['))
      return InvalidArgument(Cat("not JSON: unmatched ", Quote({&c, 1})));
    brackets_.pop_back();
    return brackets_.empty();
  }
  return false;
}

Status TraceDocument::EventEnded() {
  state_ = State::kAfterEvent;
  if (too_long_) {
    Skip(value_line_, Cat("event is longer than ", limits_.event_bytes, " bytes"));
    return OkStatus();
  }
  if (text_.front() != '{') {
    Skip(value_line_, "event is not an object");
    return OkStatus();
  }
  const Status taken = Annotate(on_event_(text_, value_line_), Place(value_line_));
  if (taken.ok()) skipped_->Use();
  return skipped_->SkipInvalid(taken);
}

Status TraceDocument::ValueEnded() {
  in_value_ = false;
  if (state_ == State::kEvent) return EventEnded();
  const std::string place = Place(value_line_);
  if (too_long_)
    return ResourceExhausted(Cat(place, ": member is longer than ", limits_.event_bytes, " bytes"));
  if (state_ == State::kKey) {
    state_ = State::kColon;
    const auto key = nlohmann::json::parse(text_, nullptr, false);
    if (!key.is_string()) return InvalidArgument(Cat(place, ": not JSON: ", Quote(text_)));
    key_ = key.get<std::string>();
    return OkStatus();
  }
  state_ = State::kAfterMember;
  return keep_ ? Annotate(on_member_(key_, text_), place) : OkStatus();
}

Status TraceDocument::Take(char c) {
  if (state_ == State::kLost) return OkStatus();
  if (in_value_) {
    bool used = false;
    const StatusOr<bool> ended = TakeValue(c, &used);
    if (!ended.ok()) {
      const std::string_view cause = ToStd(ended.status().message());
      return state_ == State::kEvent ? Lose(cause) : Error(cause);
    }
    if (*ended) RETURN_IF_ERROR(ValueEnded());
    if (used) return OkStatus();
  }
  if (IsBlank(c)) return OkStatus();
  switch (state_) {
    case State::kStart:
      if (mark_bytes_ < kMark.size() && c == kMark[mark_bytes_]) {
        ++mark_bytes_;
        return OkStatus();
      }
      if (c != '[' && c != '{') return Error("not a trace: it must begin with [ or {");
      object_ = c == '{';
      had_events_ = !object_;
      state_ = object_ ? State::kKey : State::kEvent;
      return OkStatus();
    case State::kKey:
      if (c == '}') {
        state_ = State::kEnd;
        return OkStatus();
      }
      if (c != '"') return Error("not JSON: a key is missing");
      keep_ = true;
      BeginValue(c);
      return OkStatus();
    case State::kColon:
      if (c != ':') return Error(Cat("not JSON: no colon after ", Quote(key_)));
      state_ = State::kMember;
      return OkStatus();
    case State::kMember:
      if (key_ == "traceEvents") {
        if (c != '[') return Error("traceEvents is not an array");
        if (had_events_) return Error("traceEvents appears twice");
        had_events_ = true;
        state_ = State::kEvent;
        return OkStatus();
      }
      if (c == ',' || c == '}' || c == ']')
        return Error(Cat("not JSON: no value after ", Quote(key_)));
      keep_ = wanted_(key_);
      BeginValue(c);
      return OkStatus();
    case State::kAfterMember:
      if (c != ',' && c != '}') return Error("not JSON: a comma is missing between members");
      state_ = c == ',' ? State::kKey : State::kEnd;
      return OkStatus();
    case State::kEvent:
    case State::kAfterEvent:
      if (c == ']') {
        state_ = object_ ? State::kAfterMember : State::kEnd;
        return OkStatus();
      }
      // Appending writers leave two commas or none between events.
      if (c == ',') {
        state_ = State::kEvent;
        return OkStatus();
      }
      if (state_ == State::kAfterEvent && c != '{')
        return Lose("not JSON: a comma is missing between events");
      state_ = State::kEvent;
      keep_ = true;
      BeginValue(c);
      return OkStatus();
    case State::kEnd:
      if (c == '\0') return OkStatus();
      Skip(line_, "unexpected text after the trace");
      state_ = State::kLost;
      return OkStatus();
    case State::kLost:
      return OkStatus();
  }
  return OkStatus();
}

Status TraceDocument::Finish() {
  if (state_ == State::kEnd) return had_events_ ? OkStatus() : Error(kNoEvents);
  if (state_ == State::kStart) return Error("not a trace: the file is empty");
  if (!had_events_) return Error(state_ == State::kLost ? kNoEvents : kCutShort);
  if (state_ == State::kLost) return OkStatus();
  // Text without a closing bracket may be half an event.
  if (object_ || in_value_) return Lose(kCutShort);
  return OkStatus();
}

}  // namespace pitwall::imports
