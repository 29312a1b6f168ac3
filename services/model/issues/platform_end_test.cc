#include "services/model/issues/platform_end.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

TEST(PlatformEnd, RoundTripsThroughEvent) {
  const PlatformEnd ends[] = {
      {},
      {.signal = 15, .exit_code = {}, .on_purpose = true, .cause = "time limit"},
      {.signal = {}, .exit_code = 3},
      {.signal = {},
       .exit_code = {},
       .oom_killed = true,
       .on_purpose = false,
       .cause = "",
       .rank = 7},
  };
  for (const PlatformEnd& end : ends) {
    JobEvent event;
    event.kind = JobEvent::Kind::kEnded;
    event.labels.push_back({"team", "nlp"});
    EXPECT_EQ(PlatformEndOf(event), std::nullopt);
    AddPlatformEnd(end, &event);
    EXPECT_EQ(PlatformEndOf(event), end);
    event.kind = JobEvent::Kind::kNotice;
    EXPECT_EQ(PlatformEndOf(event), std::nullopt) << "the reason does not match";
    event.reason = kPlatformEnd;
    EXPECT_EQ(PlatformEndOf(event), end);
    event.labels.push_back({"signal", "256"});
    EXPECT_EQ(PlatformEndOf(event), std::nullopt) << "the signal is invalid";
  }
}

TEST(PlatformEnd, FormatsAsText) {
  EXPECT_EQ(TextOf({}), "");
  EXPECT_EQ(TextOf({.signal = 9, .exit_code = {}}), "signal 9");
  EXPECT_EQ(TextOf({.signal = 9, .exit_code = {}, .oom_killed = true}), "out of memory");
  EXPECT_EQ(TextOf({.signal = {}, .exit_code = 139}), "signal 11");
  EXPECT_EQ(TextOf({.signal = {}, .exit_code = 255}), "exit code 255");
  EXPECT_EQ(TextOf({.signal = {},
                    .exit_code = 3,
                    .oom_killed = false,
                    .on_purpose = false,
                    .cause = "Evicted"}),
            "Evicted");
}

}  // namespace
}  // namespace pitwall
