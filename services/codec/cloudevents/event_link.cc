#include "services/codec/cloudevents/event_link.h"

#include "services/base/text/percent.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"

namespace pitwall::cloudevents {
std::string JobLink(std::string_view job) {
  // These characters are pchar in RFC 3986, section 3.3.
  return Cat("/jobs/", PercentEncoded(job, "-._~!$&'()*+,;=:@"));
}

std::string IssueLink(std::string_view job, std::string_view issue) {
  return Cat(JobLink(job), "?issue=", PercentEncoded(issue));
}

std::string EventLink(const IssueEvent& event) {
  const bool issue = event.type == EventType::kIssueFound ||
                     event.type == EventType::kIssueUpdated ||
                     event.type == EventType::kIssueResolved;
  return issue ? IssueLink(event.job, IssueId(event)) : JobLink(event.job);
}

std::string ExternalLink(std::string_view external_url, std::string_view path) {
  while (EndsWith(external_url, "/")) external_url.remove_suffix(1);
  return Cat(external_url, path);
}

std::string WithLink(std::string encoded, std::string_view external_url, const IssueEvent& event) {
  if (external_url.empty() || !StartsWith(encoded, "{")) return encoded;
  codec::JsonWriter link;
  link.String(ExternalLink(external_url, EventLink(event)));
  return Cat("{\"link\":", link.Take(), ",", encoded.substr(1));
}

}  // namespace pitwall::cloudevents
