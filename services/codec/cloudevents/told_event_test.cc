#include "services/codec/cloudevents/told_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::cloudevents {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ToldNotice Sample() {
  return {.id = "0123456789abcdef0123456789abcdef",
          .job = "job-1",
          .issues = {"i1", "i2"},
          .receiver = "on \"call\"",
          .kind = "webhook",
          .what = "found",
          .taken = true,
          .error = "",
          .time_ns = 1'767'225'600'123'456'789};
}

TEST(ToldEvent, ComesBackWhole) {
  ToldNotice told = Sample();
  StatusOr<ToldNotice> back = DecodeToldNotice(EncodeToldNotice(told));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(EncodeToldNotice(*back), EncodeToldNotice(told));
  EXPECT_TRUE(back->taken);
  EXPECT_THAT(back->issues, ElementsAre("i1", "i2"));
  EXPECT_EQ(back->receiver, told.receiver);
  EXPECT_EQ(back->time_ns, told.time_ns);
  told.taken = false;
  told.error = "status 400";
  back = DecodeToldNotice(EncodeToldNotice(told));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_FALSE(back->taken);
  EXPECT_EQ(back->error, "status 400");
}

TEST(ToldEvent, RefusesWhatIsNone) {
  EXPECT_FALSE(DecodeToldNotice("{}").ok());
  ToldNotice many = Sample();
  many.issues.assign(kMaxToldIssues + 1, "i");
  EXPECT_THAT(DecodeToldNotice(EncodeToldNotice(many)).status().message(), HasSubstr("more than"));
}

}  // namespace
}  // namespace pitwall::cloudevents
