#include "services/model/issues/platform_end.h"

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr std::string_view kKnown = "platform";  // marker label, always present
constexpr int32_t kShellOffset = 128;
constexpr int32_t kLastSignal = 31;  // higher numbers are real-time signals
constexpr int64_t kMostStatus = 255;
constexpr size_t kMaxCause = 100;  // becomes the label of a series

}  // namespace

void AddPlatformEnd(const PlatformEnd& end, JobEvent* event) {
  std::vector<Label>& labels = event->labels;
  labels.push_back({std::string(kKnown), "true"});
  if (end.signal) labels.push_back({"signal", Cat(*end.signal)});
  if (end.exit_code) labels.push_back({"exit_code", Cat(*end.exit_code)});
  if (end.oom_killed) labels.push_back({"oom_killed", "true"});
  if (end.on_purpose) labels.push_back({"on_purpose", "true"});
  if (!end.cause.empty()) labels.push_back({"cause", end.cause});
  if (end.rank) labels.push_back({"rank", Cat(*end.rank)});
}

std::optional<PlatformEnd> PlatformEndOf(const JobEvent& event) {
  const bool may = event.kind == JobEvent::Kind::kEnded ||
                   (event.kind == JobEvent::Kind::kNotice && event.reason == kPlatformEnd);
  if (!may) return std::nullopt;
  PlatformEnd end;
  bool known = false;
  for (const Label& label : event.labels) {
    const auto number = [&](int64_t most) -> std::optional<int64_t> {
      const auto value = ParseInt(label.value);
      return value.has_value() && *value >= 0 && *value <= most ? value : std::nullopt;
    };
    if (label.name == kKnown) known = true;
    if (label.name == "oom_killed") end.oom_killed = label.value == "true";
    if (label.name == "on_purpose") end.on_purpose = label.value == "true";
    if (label.name == "cause") end.cause = label.value.substr(0, kMaxCause);
    if (label.name == "rank") end.rank = number(INT32_MAX);
    if (label.name != "signal" && label.name != "exit_code") continue;
    const auto value = number(kMostStatus);
    if (!value) return std::nullopt;
    (label.name == "signal" ? end.signal : end.exit_code) = static_cast<int32_t>(*value);
  }
  return known ? std::optional(std::move(end)) : std::nullopt;
}

std::string TextOf(const PlatformEnd& end) {
  if (!end.cause.empty()) return end.cause;
  if (end.oom_killed) return "out of memory";
  if (end.signal.has_value()) return Cat("signal ", *end.signal);
  if (const int32_t code = end.exit_code.value_or(0);
      code > kShellOffset && code <= kShellOffset + kLastSignal)
    return Cat("signal ", code - kShellOffset);
  if (end.exit_code.has_value()) return Cat("exit code ", *end.exit_code);
  return "";
}

}  // namespace pitwall
