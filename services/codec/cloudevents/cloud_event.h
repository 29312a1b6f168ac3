// CloudEvents 1.0 in structured JSON: the bytes on pitwall.issues, pitwall.actions and webhooks.
//
// Pure functions, thread-safe. Encoding is deterministic: fixed key order, no white space, shortest
// doubles; what is absent in the event is left out; NaN and infinities are the strings "NaN",
// "+Inf", "-Inf"; times are RFC 3339 in UTC with nine digits; bytes that are no UTF-8 become
// U+FFFD. Field names are those of proto/pitwall/issues/v1/issues.proto. Decoding gives back every
// field (NaN payloads aside), ignores keys it does not know (so that an older reader reads a newer
// writer), and refuses wrong types, unknown enum names and missing required attributes with
// InvalidArgument that names the key.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/issues/action.h"
#include "services/model/issues/issue.h"

namespace pitwall::cloudevents {

inline constexpr std::string_view kContentType = "application/cloudevents+json";
// Longest text that the decoders take.
inline constexpr size_t kMaxEventBytes = size_t{4} << 20;

std::string EncodeCloudEvent(const IssueEvent& event);
StatusOr<IssueEvent> DecodeCloudEvent(std::string_view json);

std::string EncodeCloudEvent(const ActionEvent& event);
// For a receiver, under the subject and incident that it knows.
std::string EncodeCloudEvent(const ActionEvent& event, std::string_view subject,
                             std::string_view incident);
StatusOr<ActionEvent> DecodeActionEvent(std::string_view json);

// "/pitwall/jobs/<job>", percent-encoded as RFC 3986 wants it in a path segment.
std::string EventSource(std::string_view job);

// 2026-11-21T14:00:00.000000001Z
std::string FormatTime(int64_t unix_ns);

}  // namespace pitwall::cloudevents
