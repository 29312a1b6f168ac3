#include "services/codec/cloudevents/capture_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::cloudevents {
namespace {

using ::testing::HasSubstr;

RankCapture SampleCapture() {
  RankCapture c;
  c.request = "r1";
  c.issue = "i1";
  c.principal = "uid:1000";
  c.job = "job-1";
  c.job_name = "train";
  c.owner = "uid:1000";
  c.rank = 3;
  c.world_size = 8;
  c.node = "n1";
  c.pid = 4711;
  c.time = EventTime::FromNs(1'767'225'600'123'456'789);
  c.state = CaptureState::kCollective;
  c.source = "client";
  c.look.phase = "backward";
  c.look.mode = "train";
  c.look.collective = OpenCollective{"default", "all_reduce", 137, 4096};
  c.look.python = true;
  c.look.threads = {{7, "MainThread", true, {"wait (a.py:1)", "main \"b\".py:2"}, ""},
                    {8, "loader", false, {}, "S, in futex_wait"}};
  c.look.cpu_seconds = 12.5;
  c.look.io_bytes = 99;
  c.change = {.went_on = true, .cpu_share = 0.25, .io_bytes = 17, .same_stacks = true};
  c.look.step_plus_one = 42;
  c.operators = {"aten::mm 0.5 s"};
  c.left_out = 2;
  return c;
}

TEST(CaptureEvent, RankCaptureRoundTrips) {
  const std::string json = EncodeRankCapture(SampleCapture());
  const StatusOr<RankCapture> back = DecodeRankCapture(json);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(EncodeRankCapture(*back), json);
  EXPECT_EQ(back->look.collective, SampleCapture().look.collective);
  EXPECT_EQ(back->look.threads, SampleCapture().look.threads);
  EXPECT_EQ(back->change.same_stacks, true);
}

TEST(CaptureEvent, AbsentFieldsStayAbsent) {
  RankCapture c = SampleCapture();
  c.look.io_bytes.reset();
  c.change.io_bytes.reset();
  c.change.same_stacks.reset();
  c.look.collective.reset();
  const StatusOr<RankCapture> back = DecodeRankCapture(EncodeRankCapture(c));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_FALSE(back->look.io_bytes || back->change.io_bytes || back->change.same_stacks ||
               back->look.collective);
}

TEST(CaptureEvent, CaptureRequestRoundTrips) {
  const CaptureRequest request{"id",    "job-1", {0, 3},
                               "issue", "act",   EventTime::FromNs(1'767'225'600'000'000'001)};
  const StatusOr<CaptureRequest> back = DecodeCaptureRequest(EncodeCaptureRequest(request));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->id, "id");
  EXPECT_EQ(back->job, "job-1");
  EXPECT_EQ(back->ranks, request.ranks);
  EXPECT_EQ(back->issue, "issue");
  EXPECT_EQ(back->principal, "act");
  EXPECT_EQ(back->expires, request.expires);
}

TEST(CaptureEvent, ErrorsContainInvalidKey) {
  EXPECT_FALSE(DecodeCaptureRequest("[]").ok());
  EXPECT_FALSE(
      DecodeRankCapture(EncodeCaptureRequest({"id", "j", {}, "", "", EventTime::FromNs(1)})).ok());
  std::string json = EncodeCaptureRequest({"id", "j", {1}, "", "", EventTime::FromNs(1)});
  json.replace(json.find("\"1\"]"), 4, "\"-1\"]");
  EXPECT_THAT(std::string(DecodeCaptureRequest(json).status().message()),
              HasSubstr("data.ranks: must be non-negative integers"));
  json = EncodeRankCapture(SampleCapture());
  json.replace(json.find("\"state\":\"collective\""), 20, "\"state\":\"asleep\"");
  EXPECT_THAT(std::string(DecodeRankCapture(json).status().message()),
              HasSubstr("data.state: unknown"));
}

}  // namespace
}  // namespace pitwall::cloudevents
