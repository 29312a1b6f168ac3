#include "services/history/promapi/form.h"

#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::promapi {
namespace {

TEST(Form, BodyTakesPrecedenceOverUrl) {
  http::HttpRequest request;
  request.method = "POST";
  request.query = {{"query", "old"}, {"limit", "3"}, {"match[]", "c"}};
  request.headers = {{"content-type", "application/x-www-form-urlencoded; charset=UTF-8"}};
  request.body = "query=up%7Ba%3D%22b%22%7D+%2B+1&match%5B%5D=a&match[]=b&empty=&flag";
  const auto form = Form::Of(request);
  ASSERT_TRUE(form.ok()) << form.status();
  EXPECT_EQ(form->Get("query"), "up{a=\"b\"} + 1");
  EXPECT_EQ(form->Get("limit"), "3");
  EXPECT_EQ(form->All("match[]"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(form->Get("missing"), "");
}

TEST(Form, BodyOfOtherContentTypeIsIgnored) {
  http::HttpRequest request;
  request.method = "POST";
  request.headers = {{"content-type", "application/json"}};
  request.body = "query=1";
  EXPECT_EQ(Form::Of(request)->Get("query"), "");
}

TEST(Form, RejectsInvalidEscapesAndTooManyParameters) {
  http::HttpRequest request;
  request.method = "POST";
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  request.body = "query=%G1";
  EXPECT_EQ(Form::Of(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.body.clear();
  for (int i = 0; i < 1001; ++i) request.body += "a=b&";
  EXPECT_EQ(Form::Of(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ParseInstant, AcceptsSecondsAndDates) {
  EXPECT_EQ(*ParseInstant("1700000000.1234"), 1'700'000'000'123'000'000);
  EXPECT_EQ(*ParseInstant("1.7e9"), 1'700'000'000'000'000'000);
  EXPECT_EQ(*ParseInstant("-0.5"), -500'000'000);
  EXPECT_EQ(*ParseInstant("2023-11-14T22:13:20Z"), 1'700'000'000'000'000'000);
  EXPECT_EQ(*ParseInstant("2023-11-14T23:13:20.0015+01:00"), 1'700'000'000'001'000'000);
  EXPECT_EQ(*ParseInstant("1e300"), kMaxPosition);
  EXPECT_EQ(*ParseInstant("-Inf"), kMinPosition);
  EXPECT_EQ(ToStd(ParseInstant("noon").status().message()),
            "cannot parse \"noon\" to a valid timestamp");
  EXPECT_FALSE(ParseInstant("").ok());
  EXPECT_FALSE(ParseInstant("NaN").ok());
}

TEST(ParseLength, AcceptsSecondsAndUnits) {
  EXPECT_EQ(*ParseLength("15"), 15'000'000'000);
  EXPECT_EQ(*ParseLength("0.25"), 250'000'000);
  EXPECT_EQ(*ParseLength("1m30s"), 90'000'000'000);
  EXPECT_EQ(*ParseLength("-1"), -1'000'000'000);
  EXPECT_EQ(ToStd(ParseLength("1e300").status().message()),
            "cannot parse \"1e300\" to a valid duration. It overflows int64");
  EXPECT_EQ(ToStd(ParseLength("").status().message()), "cannot parse \"\" to a valid duration");
  EXPECT_FALSE(ParseLength("5 m").ok());
}

TEST(ParseLimit, AcceptsIntegers) {
  EXPECT_EQ(*ParseLimit(""), 0U);
  EXPECT_EQ(*ParseLimit("17"), 17U);
  EXPECT_FALSE(ParseLimit("-1").ok());
  EXPECT_FALSE(ParseLimit("1.5").ok());
}

}  // namespace
}  // namespace pitwall::promapi
