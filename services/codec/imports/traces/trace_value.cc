#include "services/codec/imports/traces/trace_value.h"

#include "services/base/text/strings.h"

namespace pitwall::imports {
namespace {

constexpr size_t kMaxBrackets = 64;

bool EndsScalar(char c) {
  return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

void TraceValue::Begin(char c, uint32_t line, bool keep) {
  reading_ = true;
  keep_ = keep;
  in_string_ = c == '"';
  escaped_ = false;
  scalar_ = c != '"' && c != '{' && c != '[';
  too_long_ = false;
  brackets_.clear();
  if (c == '{' || c == '[') brackets_ += c;
  line_ = line;
  text_.assign(keep_ ? 1 : 0, c);
}

TraceValue::Progress TraceValue::TakeByte(char c) {
  if (scalar_ && EndsScalar(c)) return Progress::kEndedBefore;
  if (keep_) {
    too_long_ |= text_.size() >= max_bytes_;
    if (!too_long_) text_ += c;
  }
  const auto end = [this] { return brackets_.empty() ? Progress::kEnded : Progress::kReading; };
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return end();
    }
    return Progress::kReading;
  }
  if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    brackets_ += c;
    if (brackets_.size() > kMaxBrackets) return Fail("nested too deeply");
  } else if (c == '}' || c == ']') {
    if (brackets_.empty() || brackets_.back() != (c == '}' ? '{' : '['))
      return Fail(Cat("not JSON: unmatched ", Quote({&c, 1})));
    brackets_.pop_back();
    return end();
  }
  return Progress::kReading;
}

}  // namespace pitwall::imports
