#include "services/app/cli/history/history_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/app/cli/history/testing/scripted_transport.h"

namespace pitwall::history_client {
namespace {

using testing::HasSubstr;

TEST(HistoryClient, Get_EncodesParametersAndSendsToken) {
  ScriptedTransport transport;
  transport.replies.push_back({200, {}, "{\"a\":1}"});
  const Client client("http://h:1/", "secret", &transport);
  const auto answer = client.Get("/x", {{"query", "a{b=\"c d\"} > 1"}, {"job", "\xc3\xa4"}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)["a"], 1);
  EXPECT_EQ(transport.calls[0].url,
            "http://h:1/x?query=a%7Bb%3D%22c%20d%22%7D%20%3E%201&job=%C3%A4");
  EXPECT_THAT(transport.calls[0].headers,
              testing::Contains(testing::Pair("authorization", "Bearer secret")));
}

TEST(HistoryClient, Get_ErrorResponse_MapsCodeAndMessage) {
  struct Case {
    int status;
    std::string body;
    absl::StatusCode code;
    std::string message;
  };
  for (const Case& c :
       {Case{400, R"j({"error":{"code":"invalid_argument","message":"limit: wrong (0)"}})j",
             absl::StatusCode::kInvalidArgument, "limit: wrong (0)"},
        Case{400, R"j({"status":"error","errorType":"bad_data","error":"parse error"})j",
             absl::StatusCode::kInvalidArgument, "parse error"},
        Case{401, "no token\n", absl::StatusCode::kPermissionDenied, "specify --token-file"},
        Case{404, "not found\n", absl::StatusCode::kNotFound, "with insights"},
        Case{404, R"j({"error":{"message":"job: not found (x)"}})j", absl::StatusCode::kNotFound,
             "job: not found (x)"},
        Case{409, R"j({"error":{"message":"the job runs"}})j",
             absl::StatusCode::kFailedPrecondition, "the job runs"},
        Case{422, R"j({"error":{"message":"too many"}})j", absl::StatusCode::kResourceExhausted,
             "too many"},
        Case{503, "busy", absl::StatusCode::kUnavailable, "HTTP 503 (busy)"},
        Case{200, "<html>", absl::StatusCode::kUnavailable, "malformed JSON"}}) {
    ScriptedTransport transport;
    transport.replies.push_back({c.status, {}, c.body});
    const auto answer = Client("http://h", "", &transport).Get("/x", {});
    EXPECT_EQ(answer.status().code(), c.code) << c.body;
    EXPECT_THAT(std::string(answer.status().message()), HasSubstr(c.message));
  }
}

TEST(HistoryClient, Get_NoResponse_ErrorNamesUrl) {
  ScriptedTransport transport;  // without scripted replies
  const auto answer = Client("http://h:9", "", &transport).Get("/x", {});
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("http://h:9: no response"));
}

}  // namespace
}  // namespace pitwall::history_client
