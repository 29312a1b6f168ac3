// Tests for paging through spans and samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/app/cli/history/sample_pages.h"
#include "services/app/cli/history/span_pages.h"
#include "services/app/cli/history/testing/scripted_transport.h"
#include "services/base/text/strings.h"

namespace pitwall::history_client {
namespace {

using testing::HasSubstr;

std::string SpanAnswer(const std::string& name, const char* next) {
  return Cat(
      R"({"spans":{"source":["r@n"],"node":["n"],"rank":[3],"kind":["phase"],"name":[")", name,
      R"("],"start_ns":["1767225600000000001"],"end_ns":["1767225600000000005"],"step":[7],"mode":["train"]},"next":)",
      next, "}");
}

TEST(SpanPages, ForEachSpan_SeveralPages_RequestsEachPage) {
  ScriptedTransport transport;
  transport.replies = {{200, {}, SpanAnswer("forward", "\"p2\"")},
                       {200, {}, SpanAnswer("backward", "null")}};
  SliceOf slice;
  slice.job = "j";
  slice.from = "5";
  slice.from_step = 10;
  slice.to_step = 21;
  slice.ranks = {3, 4};
  std::vector<SpanOf> spans;
  const Status status = ForEachSpan(Client("http://h", "", &transport), slice, 10,
                                    [&](const SpanOf& one) { spans.push_back(one); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].span.name, "forward");
  EXPECT_EQ(spans[1].span.name, "backward");
  EXPECT_EQ(spans[0].rank, 3);
  EXPECT_EQ(spans[0].span.step, 7);
  EXPECT_EQ((spans[0].span.end - spans[0].span.start).ns(), 4);
  EXPECT_EQ(transport.calls[0].url,
            "http://h/api/pitwall/v1/"
            "spans?job=j&limit=200000&from=5&mode=train&from_step=10&to_step=21&rank=3&rank=4");
  EXPECT_THAT(transport.calls[1].url, HasSubstr("&page=p2"));
}

TEST(SpanPages, ForEachSpan_TooManyOrMalformedSpans_Fails) {
  for (const auto& [body, most, message] :
       {std::tuple(SpanAnswer("x", "null"), 0, "more than 0 spans; narrow"),
        std::tuple(std::string(R"({"spans":{"kind":["phase"]},"next":null})"), 9, "column source"),
        std::tuple(std::string("{}"), 9, "no spans"),
        std::tuple(SpanAnswer("x", "\"p\""), 9, "refers to itself")}) {
    ScriptedTransport transport;
    transport.replies = {{200, {}, body}, {200, {}, body}, {200, {}, body}};
    const Status status = ForEachSpan(Client("http://h", "", &transport), {},
                                      static_cast<uint64_t>(most), [](const SpanOf&) {});
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST(SamplePages, WriteCsv_RangeTooLarge_SplitsRangeInHalf) {
  constexpr char kSeries[] =
      R"({"series":[{"labels":{"__name__":"train_loss","rank":"0","a":"x,y"},"kind":"gauge",
      "times_ns":["10","20"],"values":[0.5,null],"steps":[4,-1]}]})";
  ScriptedTransport transport;
  transport.replies = {{422, {}, R"({"error":{"message":"too many samples"}})"},
                       {200, {}, kSeries},
                       {200, {}, R"({"series":[]})"}};
  std::string csv;
  const auto rows = WriteCsv(Client("http://h", "", &transport), {.job = "j"}, {"train_loss"}, 0,
                             10'000'000'000, [&](std::string_view text) {
                               csv += text;
                               return OkStatus();
                             });
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, 2u);
  EXPECT_EQ(csv,
            "metric,labels,time_ns,step,value\n"
            "train_loss,\"{a=\"\"x,y\"\",rank=\"\"0\"\"}\",10,4,0.5\n"
            "train_loss,\"{a=\"\"x,y\"\",rank=\"\"0\"\"}\",20,,NaN\n");
  ASSERT_EQ(transport.calls.size(), 3u);
  EXPECT_THAT(transport.calls[1].url, HasSubstr("from=0&to=5000000000"));
  EXPECT_THAT(transport.calls[2].url, HasSubstr("from=5000000000&to=10000000000"));
}

TEST(SamplePages, WriteCsv_RangeCannotBeSplit_Fails) {
  ScriptedTransport transport;
  for (int i = 0; i < 20; ++i)
    transport.replies.push_back({422, {}, R"({"error":{"message":"too many series"}})"});
  const auto rows = WriteCsv(Client("http://h", "", &transport), {.job = "j"}, {"x"}, 0,
                             10'000'000'000, [](std::string_view) { return OkStatus(); });
  EXPECT_THAT(std::string(rows.status().message()), HasSubstr("too many series"));
  EXPECT_LT(transport.calls.size(), 8u);
}

}  // namespace
}  // namespace pitwall::history_client
