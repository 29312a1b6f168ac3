// Links to the web page for an event: paths derived from the event, and the corresponding URLs on a
// server. Events on Kafka topics do not contain a link.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/issue.h"

namespace pitwall::cloudevents {

// Returns "/jobs/<job>", percent-encoded as a path segment of RFC 3986.
std::string JobLink(std::string_view job);
// Returns "/jobs/<job>?issue=<issue ID>".
std::string IssueLink(std::string_view job, std::string_view issue);
// Returns the issue link, or the job link if the event is a rule status or a job change.
std::string EventLink(const IssueEvent& event);
// Appends `path` to the server URL, which may end with '/'. Returns `path` if the URL is empty.
std::string ExternalLink(std::string_view external_url, std::string_view path);
// Adds the extension attribute "link" for `event` to an encoded CloudEvent. Returns the CloudEvent
// unchanged if the URL is empty.
std::string WithLink(std::string encoded, std::string_view external_url, const IssueEvent& event);

}  // namespace pitwall::cloudevents
