#include "services/codec/imports/traces/trace_document.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::imports {

namespace {

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
      limits_(limits),
      value_(limits.event_bytes) {}

std::string TraceDocument::Place(uint32_t line) const { return Cat(name_, ":", line, ":1"); }

Status TraceDocument::Error(std::string_view what) const {
  return InvalidArgument(Cat(Place(line_), ": ", what));
}

void TraceDocument::Skip(uint32_t line, std::string_view cause) {
  skipped_->Skip(Cat(Place(line), ": ", cause));
}

Status TraceDocument::Lose(std::string_view cause) {
  Skip(line_, cause);
  value_.Drop();
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

Status TraceDocument::EventEnded() {
  state_ = State::kAfterEvent;
  if (value_.too_long()) {
    Skip(value_.line(), Cat("event is longer than ", limits_.event_bytes, " bytes"));
    return OkStatus();
  }
  if (value_.text().front() != '{') {
    Skip(value_.line(), "event is not an object");
    return OkStatus();
  }
  const Status taken = Annotate(on_event_(value_.text(), value_.line()), Place(value_.line()));
  if (taken.ok()) skipped_->Use();
  return skipped_->SkipInvalid(taken);
}

Status TraceDocument::ValueEnded() {
  if (state_ == State::kEvent) return EventEnded();
  const std::string place = Place(value_.line());
  if (value_.too_long())
    return ResourceExhausted(Cat(place, ": member is longer than ", limits_.event_bytes, " bytes"));
  if (state_ == State::kKey) {
    state_ = State::kColon;
    const auto key = nlohmann::json::parse(value_.text(), nullptr, false);
    if (!key.is_string()) return InvalidArgument(Cat(place, ": not JSON: ", Quote(value_.text())));
    key_ = key.get<std::string>();
    return OkStatus();
  }
  state_ = State::kAfterMember;
  return value_.kept() ? Annotate(on_member_(key_, value_.text()), place) : OkStatus();
}

Status TraceDocument::Take(char c) {
  if (state_ == State::kLost) return OkStatus();
  if (value_.reading()) {
    const TraceValue::Progress progress = value_.Take(c);
    if (progress == TraceValue::Progress::kReading) return OkStatus();
    if (progress == TraceValue::Progress::kInvalid)
      return state_ == State::kEvent ? Lose(value_.error()) : Error(value_.error());
    RETURN_IF_ERROR(ValueEnded());
    if (progress == TraceValue::Progress::kEnded) return OkStatus();
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
      value_.Begin(c, line_, true);
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
      value_.Begin(c, line_, wanted_(key_));
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
      // Writers that append to a file may leave two commas, or none, between events.
      if (c == ',') {
        state_ = State::kEvent;
        return OkStatus();
      }
      if (state_ == State::kAfterEvent && c != '{')
        return Lose("not JSON: a comma is missing between events");
      state_ = State::kEvent;
      value_.Begin(c, line_, true);
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
  // Text without a closing bracket may be an incomplete event.
  if (object_ || value_.reading()) return Lose(kCutShort);
  return OkStatus();
}

}  // namespace pitwall::imports
