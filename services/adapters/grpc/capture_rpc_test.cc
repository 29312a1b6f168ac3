// Tests for captures over loopback: authorization for requesting and reading captures.
#include <gtest/gtest.h>

#include "services/adapters/grpc/testing/issue_server_fixture.h"

namespace pitwall::grpc_adapter {
namespace {

class NoIssues final : public IssueSource {
 public:
  StatusOr<IssuePage> ListIssues(const IssueQuery&) override { return IssuePage{}; }
  StatusOr<std::vector<IssueEventPtr>> GetIssue(std::string_view) override {
    return NotFound("no such issue");
  }
  StatusOr<std::unique_ptr<IssueWatch>> WatchIssues(const WatchQuery&) override {
    return Unavailable("no watches");
  }
};

class ScriptedCaptures final : public CaptureSource {
 public:
  StatusOr<std::string> RequestCapture(CaptureRequest request) override {
    asked.push_back(std::move(request));
    return std::string("r1");
  }
  StatusOr<std::vector<RankCapture>> Find(const CaptureQuery& query) override {
    RankCapture capture;
    capture.request = query.request;
    capture.issue = query.issue;
    capture.job = "j";
    capture.rank = 3;
    capture.state = CaptureState::kLoader;
    return std::vector<RankCapture>{capture};
  }
  std::vector<CaptureRequest> asked;
};

class CaptureRpcTest : public IssueServerFixture<NoIssues> {
 protected:
  ScriptedCaptures captures_;
};

TEST_F(CaptureRpcTest, ActRoleMayRequest_ViewRoleMayRead) {
  Run({.tokens = {.view = "see", .act = "do"}, .captures = &captures_});
  EXPECT_TRUE(absl::IsUnauthenticated(Client()->AskCapture("j", {}, 0).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(Client("see")->AskCapture("j", {}, 0).status()));
  EXPECT_TRUE(captures_.asked.empty());
  const auto client = Client("do");
  EXPECT_EQ(*client->AskCapture("j", {0, 3}, 5 * kNanosPerSecond), "r1");
  ASSERT_EQ(captures_.asked.size(), 1u);
  EXPECT_EQ(captures_.asked[0].job, "j");
  EXPECT_EQ(captures_.asked[0].ranks, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(captures_.asked[0].principal, "act");
  EXPECT_GT(captures_.asked[0].expires.ns(), clock_.WallNs() + 2 * kNanosPerSecond);
  EXPECT_FALSE(client->AskCapture("", {}, 0).ok());
  EXPECT_FALSE(client->AskCapture("j", {}, 61 * kNanosPerSecond).ok());
  const auto found = Client("see")->Captures("r1", "");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].rank, 3);
  EXPECT_EQ((*found)[0].state, CaptureState::kLoader);
  EXPECT_TRUE(absl::IsInvalidArgument(Client("see")->Captures("", "").status()));
  EXPECT_TRUE(absl::IsUnauthenticated(Client()->Captures("r1", "").status()));
}

TEST_F(CaptureRpcTest, MissingActToken_RequestIsDenied) {
  Run({.captures = &captures_});
  EXPECT_TRUE(absl::IsPermissionDenied(Client()->AskCapture("j", {}, 0).status()));
  EXPECT_TRUE(captures_.asked.empty());
  EXPECT_TRUE(Client()->Captures("r1", "").ok());
}

TEST_F(CaptureRpcTest, ServerWithoutCaptures_IsUnimplemented) {
  Run({});
  EXPECT_TRUE(absl::IsUnimplemented(Client()->Captures("r1", "").status()));
}

}  // namespace
}  // namespace pitwall::grpc_adapter
