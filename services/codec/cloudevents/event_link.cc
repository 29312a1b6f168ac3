#include "services/codec/cloudevents/event_link.h"

#include "services/base/strings.h"
#include "services/codec/cloudevents/json_writer.h"

namespace pitwall::cloudevents {
namespace {

// `plain`: characters beside letters and digits that stay as they are.
std::string Encoded(std::string_view text, std::string_view plain) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        plain.find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out.push_back(kHex[static_cast<unsigned char>(c) & 15]);
    }
  }
  return out;
}

}  // namespace

std::string JobLink(std::string_view job) {
  // pchar of RFC 3986, section 3.3.
  return Cat("/jobs/", Encoded(job, "-._~!$&'()*+,;=:@"));
}

std::string IssueLink(std::string_view job, std::string_view issue) {
  return Cat(JobLink(job), "?issue=", Encoded(issue, "-._~"));
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
  JsonWriter link;
  link.String(ExternalLink(external_url, EventLink(event)));
  return Cat("{\"link\":", link.Take(), ",", encoded.substr(1));
}

}  // namespace pitwall::cloudevents
