// Topic names (architecture.md, section 5).
#pragma once

#include <string_view>

namespace pitwall {
inline constexpr std::string_view kTelemetryTopic = "pitwall.telemetry";
inline constexpr std::string_view kIssuesTopic = "pitwall.issues";
inline constexpr std::string_view kStateTopic = "pitwall.state";
inline constexpr std::string_view kRulesTopic = "pitwall.rules";
inline constexpr std::string_view kActionsTopic = "pitwall.actions";
inline constexpr std::string_view kControlTopic = "pitwall.control";
inline constexpr std::string_view kCapturesTopic = "pitwall.captures";
inline constexpr std::string_view kNotificationsTopic = "pitwall.notifications";
inline constexpr std::string_view kDeadLetterTopic = "pitwall.dlq";
// Key of control records in pitwall.telemetry. Job IDs never begin with two underscores.
inline constexpr std::string_view kControlKey = "__control";
}  // namespace pitwall
