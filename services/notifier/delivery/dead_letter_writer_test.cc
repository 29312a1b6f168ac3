#include "services/notifier/delivery/dead_letter_writer.h"

#include <gtest/gtest.h>

#include "services/notifier/testing/notifier_fixture.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

class DeadLetterWriterTest : public ::testing::Test {
 protected:
  DeadLetterWriterTest() {
    EXPECT_TRUE(log_.EnsureTopic("pitwall.dlq", {1, false, -1}).ok());
    item_.offset = 4;
    item_.event = std::make_shared<const IssueEvent>(MakeEvent("job", "r", 1));
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  ReceiverReport report_{"w", std::make_shared<WebhookReceiver>(WebhookTarget())};
  DeadLetterWriter writer_{&log_, "pitwall.issues", "webhook", "w", &report_};
  FeedItem item_;
};

TEST_F(DeadLetterWriterTest, AppendsEventWithReasonAndPosition) {
  EXPECT_TRUE(writer_.Write(item_, "webhook rejected the event"));
  const std::vector<Record> records = log_.Records("pitwall.dlq");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].key, "job");
  EXPECT_EQ(records[0].value, cloudevents::EncodeCloudEvent(*item_.event));
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"reason", "webhook rejected the event"},
      {"topic", "pitwall.issues"},
      {"partition", "0"},
      {"offset", "4"},
      {"webhook", "w"}};
  EXPECT_EQ(records[0].headers, expected);
}

TEST_F(DeadLetterWriterTest, AppendsLargeEventWithoutBody) {
  log_.SetLargest(10);
  EXPECT_TRUE(writer_.Write(item_, "reason"));
  const std::vector<Record> records = log_.Records("pitwall.dlq");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].value, "");
  EXPECT_EQ(records[0].headers.back().first, "original_bytes");
}

TEST_F(DeadLetterWriterTest, ReturnsFalseWhileLogIsUnavailable) {
  log_.SetWriteFault([](std::string_view) { return Unavailable("down"); });
  EXPECT_FALSE(writer_.Write(item_, "reason"));
  EXPECT_EQ(report_.status().last_error, "down");
  log_.SetWriteFault(nullptr);
  EXPECT_TRUE(writer_.Write(item_, "reason"));
}

}  // namespace
}  // namespace pitwall::notifier
