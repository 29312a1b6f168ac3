#include "services/codec/cloudevents/event_link.h"

#include <gtest/gtest.h>

#include "services/codec/cloudevents/cloud_event.h"

namespace pitwall::cloudevents {
namespace {

TEST(EventLink, ContainsJobAndIssue) {
  IssueEvent event;
  event.job = "slurm/17 a?b#c%";
  event.type = EventType::kRuleStatus;
  EXPECT_EQ(EventLink(event), "/jobs/slurm%2F17%20a%3Fb%23c%25");
  event.type = EventType::kIssueUpdated;
  event.rule = "default/gpu/GpuLost";
  event.sequence = 4;
  event.active_since = EventTime::FromNs(5);
  event.id = MakeEventId(event);
  const std::string updated = EventLink(event);
  EXPECT_EQ(updated, "/jobs/slurm%2F17%20a%3Fb%23c%25?issue=" + IssueId(event));
  EXPECT_NE(IssueId(event), event.id);
  // All events of an issue have the same link.
  event.type = EventType::kIssueFound;
  event.sequence = 1;
  event.id = MakeEventId(event);
  EXPECT_EQ(EventLink(event), updated);
}

TEST(EventLink, UntrustedNamesStayInOnePathSegment) {
  EXPECT_EQ(JobLink("../../x"), "/jobs/..%2F..%2Fx");
  EXPECT_EQ(JobLink("a\r\nb"), "/jobs/a%0D%0Ab");
  EXPECT_EQ(JobLink("<script>"), "/jobs/%3Cscript%3E");
  EXPECT_EQ(IssueLink("j", "a&b=c"), "/jobs/j?issue=a%26b%3Dc");
}

TEST(ExternalLink, PrependsUrl) {
  EXPECT_EQ(ExternalLink("https://pitwall.example", "/jobs/j"), "https://pitwall.example/jobs/j");
  EXPECT_EQ(ExternalLink("https://h/base/", "/jobs/j"), "https://h/base/jobs/j");
  EXPECT_EQ(ExternalLink("", "/jobs/j"), "/jobs/j");
}

TEST(WithLink, AddsAttributeThatReadersIgnore) {
  IssueEvent event;
  event.job = "j\"<k";
  event.rule = "p/g/A";
  event.id = MakeEventId(event);
  const std::string plain = EncodeCloudEvent(event);
  EXPECT_EQ(WithLink(plain, "", event), plain);
  const std::string linked = WithLink(plain, "https://pitwall.example", event);
  EXPECT_EQ(linked, "{\"link\":\"https://pitwall.example/jobs/j%22%3Ck?issue=" + IssueId(event) +
                        "\"," + plain.substr(1));
  const auto read = DecodeCloudEvent(linked);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeCloudEvent(*read), plain);
}

}  // namespace
}  // namespace pitwall::cloudevents
