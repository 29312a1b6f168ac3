// CloudEvents 1.0 in structured JSON: the payloads of pitwall.issues, pitwall.actions, and
// webhooks.
//
// Pure functions, thread-safe. Encoding is deterministic: fixed key order, no whitespace, shortest
// doubles. Absent fields are omitted. NaN and infinities are the strings "NaN", "+Inf", and "-Inf".
// Times are RFC 3339 in UTC with nine fractional digits. Bytes that are not UTF-8 become U+FFFD.
// Field names match proto/pitwall/issues/v1/issues.proto. Decoding restores every field (except NaN
// payloads) and ignores unknown keys, so an older reader can read a newer writer's events. Decoding
// rejects wrong types, unknown enum names, and missing required attributes with InvalidArgument;
// the error names the key.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::cloudevents {

inline constexpr std::string_view kContentType = "application/cloudevents+json";
// Maximum size of the JSON that the decoders accept.
inline constexpr size_t kMaxEventBytes = size_t{4} << 20;

std::string EncodeCloudEvent(const IssueEvent& event);
StatusOr<IssueEvent> DecodeCloudEvent(std::string_view json);

std::string EncodeCloudEvent(const ActionEvent& event);
// Encodes an event with a subject and incident chosen for the receiver.
std::string EncodeCloudEvent(const ActionEvent& event, std::string_view subject,
                             std::string_view incident);
StatusOr<ActionEvent> DecodeActionEvent(std::string_view json);

// Returns "/pitwall/jobs/<job>", percent-encoded as a path segment of RFC 3986.
std::string EventSource(std::string_view job);

// Formats Unix nanoseconds like 2026-11-21T14:00:00.000000001Z.
std::string FormatTime(int64_t unix_ns);

}  // namespace pitwall::cloudevents
