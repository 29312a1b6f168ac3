// Links to what the page shows of an event: paths, which are functions of the event, and what they
// are behind the address of a server. No event on a topic holds its link.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/issue.h"

namespace pitwall::cloudevents {

// "/jobs/<job>", percent-encoded as RFC 3986 wants it in a path segment.
std::string JobLink(std::string_view job);
// "/jobs/<job>?issue=<id of the issue>".
std::string IssueLink(std::string_view job, std::string_view issue);
// That of the issue; of rule status and changes of the job that of the job.
std::string EventLink(const IssueEvent& event);
// `path` behind the address, which may end in '/'; the path itself where that is "".
std::string ExternalLink(std::string_view external_url, std::string_view path);
// An encoded CloudEvent with the extension attribute "link" to what `event` is about; as it is
// where the address is "".
std::string WithLink(std::string encoded, std::string_view external_url, const IssueEvent& event);

}  // namespace pitwall::cloudevents
