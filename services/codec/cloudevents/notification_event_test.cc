#include "services/codec/cloudevents/notification_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::cloudevents {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NotificationRecord Sample() {
  return {.id = "0123456789abcdef0123456789abcdef",
          .job = "job-1",
          .issues = {"i1", "i2"},
          .receiver = "on \"call\"",
          .kind = "webhook",
          .what = "found",
          .taken = true,
          .error = "",
          .time = EventTime::FromNs(1'767'225'600'123'456'789)};
}

TEST(NotificationEvent, EncodeAndDecode_ReturnsEqualRecord) {
  NotificationRecord record = Sample();
  StatusOr<NotificationRecord> back = DecodeNotification(EncodeNotification(record));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(EncodeNotification(*back), EncodeNotification(record));
  EXPECT_TRUE(back->taken);
  EXPECT_THAT(back->issues, ElementsAre("i1", "i2"));
  EXPECT_EQ(back->receiver, record.receiver);
  EXPECT_EQ(back->time, record.time);
  record.taken = false;
  record.error = "status 400";
  back = DecodeNotification(EncodeNotification(record));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_FALSE(back->taken);
  EXPECT_EQ(back->error, "status 400");
}

TEST(NotificationEvent, InvalidRecord_ReturnsError) {
  EXPECT_FALSE(DecodeNotification("{}").ok());
  NotificationRecord many = Sample();
  many.issues.assign(kMaxNotificationIssues + 1, "i");
  EXPECT_THAT(DecodeNotification(EncodeNotification(many)).status().message(),
              HasSubstr("must list at most"));
}

}  // namespace
}  // namespace pitwall::cloudevents
