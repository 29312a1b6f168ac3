#include "services/collector/pods/pod_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/base/text/strings.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/pods/testing/pods.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Server final : public HttpTransport {
 public:
  StatusOr<HttpReply> Perform(const HttpCall& call) override {
    calls.push_back(call);
    return answer();
  }
  Status CheckUrl(std::string_view) const override { return OkStatus(); }
  void Gives(int status, std::string body) {
    answer = [status, body] { return HttpReply{status, {}, body}; };
  }
  std::function<StatusOr<HttpReply>()> answer;
  std::vector<HttpCall> calls;
};

class PodWatchTest : public ::testing::Test {
 protected:
  PodWatchTest() {
    root_.Write("token", "secret\n");
    Process(100);
    here_ = {Rank(0, 100)};
    server_.Gives(200, PodListOf(PodText({.status = R"({"running":{}})"})));
  }
  void Process(int64_t pid, std::string_view container = kContainer) const {
    root_.Write(Cat("proc/", pid, "/cgroup"),
                Cat("0::/kubepods/pod", kPodUid, "/", container, "\n"));
  }
  static PodWatch::Rank Rank(int64_t rank, int64_t pid) {
    return {.job = "j",
            .owner = Cat("pod:", kPodUid),
            .owner_declared = false,
            .rank = rank,
            .pid = pid};
  }
  void Look(int64_t seconds = 1) {
    clock_.Advance(seconds * kNanosPerSecond);
    watch_.Look();
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  Server server_;
  std::vector<PodWatch::Rank> here_;
  PodWatchOptions Options(bool owners = false) const {
    return {.url = "https://server/pods",
            .token_file = root_.At("token"),
            .owners = owners,
            .root = root_.path()};
  }

  std::vector<std::string> reported_;
  std::vector<std::string> owners_;
  PodWatch watch_{
      Options(),
      &clock_,
      &server_,
      [this] { return here_; },
      [this](const PodWatch::Rank& rank, const std::optional<PlatformEnd>& end) {
        reported_.push_back(Cat(rank.rank, ": ", end ? TextOf(*end) : "pending",
                                end && end->rank ? " (only rank)" : ""));
      },
      [](const PodWatch::Rank&, const JobReference&) { FAIL() << "owners are not requested"; }};
  // Creates a watch that also looks up owners.
  PodWatch owner_watch_{
      Options(true),
      &clock_,
      &server_,
      [this] { return here_; },
      [](const PodWatch::Rank&, const std::optional<PlatformEnd>&) {},
      [this](const PodWatch::Rank& rank, const JobReference& object) {
        owners_.push_back(Cat(rank.job, ": ", object.platform, " ", object.namespace_name, " ",
                              object.kind, " ", object.name, " ", object.uid));
        here_[0].has_object = true;
      }};
  void LookForOwners() {
    clock_.Advance(kNanosPerSecond);
    owner_watch_.Look();
  }
};

// The rank arrives and leaves between two rounds.
TEST_F(PodWatchTest, ShortLivedRankIsReported) {
  watch_.Arrive(Rank(0, 100));
  root_.Remove("proc/100/cgroup");
  here_.clear();
  server_.Gives(200, PodListOf(PodText({.status = Terminated(137, "OOMKilled")})));
  Look();
  EXPECT_THAT(reported_, ElementsAre("0: pending", "0: out of memory (only rank)"));
}

// The rank arrives while a round is listing the ranks.
TEST_F(PodWatchTest, RankArrivingDuringRound_HasNotLeft) {
  PodWatch* arriving = nullptr;
  PodWatch watch(
      {.url = "https://server/pods", .token_file = root_.At("token"), .root = root_.path()},
      &clock_, &server_,
      [&] {
        const std::vector<PodWatch::Rank> here =
            arriving == nullptr ? here_ : std::vector<PodWatch::Rank>();
        if (arriving != nullptr) arriving->Arrive(Rank(0, 100));
        arriving = nullptr;
        return here;
      },
      [](const PodWatch::Rank&, const std::optional<PlatformEnd>&) {},
      [](const PodWatch::Rank&, const JobReference&) {});
  arriving = &watch;
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(kNanosPerSecond);
    watch.Look();
  }
  EXPECT_THAT(server_.calls, IsEmpty());
}

TEST_F(PodWatchTest, OwnerOfPodIsRequestedOnce) {
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(owners_, ElementsAre("j: kubernetes research Job bert a1"));
  EXPECT_EQ(server_.calls.size(), 1u);
  here_[0].has_object = false;  // the job was declared for another owner
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(owners_, ::testing::SizeIs(2));
  EXPECT_EQ(server_.calls.size(), 2u);
}

TEST_F(PodWatchTest, JobWithKnownObject_CausesNoRequest) {
  here_[0].has_object = true;
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(server_.calls, IsEmpty());
}

TEST_F(PodWatchTest, PodWithoutOwner_IsNotRequestedAgain) {
  server_.Gives(200, PodListOf(""));
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(owners_, IsEmpty());
  EXPECT_EQ(server_.calls.size(), 1u);
}

TEST_F(PodWatchTest, ServerErrorDelaysOwnerLookup) {
  server_.Gives(500, "busy");
  LookForOwners();
  EXPECT_FALSE(owner_watch_.health().ok());
  server_.Gives(200, PodListOf(PodText({.status = R"({"running":{}})"})));
  for (int i = 0; i < 3; ++i) LookForOwners();
  EXPECT_THAT(owners_, ::testing::SizeIs(1));
  EXPECT_TRUE(owner_watch_.health().ok());
}

TEST_F(PodWatchTest, RankEnds_RequestsAndReportsStatus) {
  for (int i = 0; i < 10; ++i) Look();
  EXPECT_THAT(server_.calls, IsEmpty());
  EXPECT_THAT(reported_, ElementsAre("0: pending"));
  here_.clear();
  Look();
  ASSERT_EQ(server_.calls.size(), 1u);
  EXPECT_EQ(server_.calls[0].method, "GET");
  EXPECT_THAT(server_.calls[0].headers, ::testing::Contains(std::pair<std::string, std::string>(
                                            "authorization", "Bearer secret")));
  server_.Gives(200, PodListOf(PodText({.status = Terminated(137, "OOMKilled")})));
  Look();
  EXPECT_THAT(reported_, ElementsAre("0: pending", "0: out of memory (only rank)"));
  for (int i = 0; i < 10; ++i) Look();
  EXPECT_EQ(server_.calls.size(), 2u) << "no end is pending";
}

TEST_F(PodWatchTest, ContainerWithTwoRanks_StatusAppliesToBothRanks) {
  Process(101);
  here_.push_back(Rank(1, 101));
  Look();
  here_.clear();
  server_.Gives(200, PodListOf(PodText({.status = Terminated(1, "Error")})));
  Look();
  EXPECT_THAT(reported_,
              ElementsAre("0: pending", "1: pending", "0: exit code 1", "1: exit code 1"));
}

TEST_F(PodWatchTest, RankOutsidePodsIsIgnored) {
  root_.Write("proc/200/cgroup", "0::/user.slice\n");
  here_ = {Rank(0, 200), Rank(1, 999)};
  Look();
  here_.clear();
  Look();
  EXPECT_THAT(reported_, IsEmpty());
  EXPECT_THAT(server_.calls, IsEmpty());
}

TEST_F(PodWatchTest, ReturningRank_IsNotReported) {
  Look();
  here_.clear();
  Look();
  here_ = {Rank(0, 100)};
  Look();
  server_.Gives(200, PodListOf(PodText({.status = Terminated(1, "Error")})));
  for (int i = 0; i < 5; ++i) Look();
  EXPECT_EQ(server_.calls.size(), 1u);
  EXPECT_THAT(reported_, ElementsAre("0: pending"));
}

TEST_F(PodWatchTest, EndedRank_SendsRequestImmediately) {
  Process(101);
  here_.push_back(Rank(1, 101));
  Look();
  here_.erase(here_.begin());
  Look();
  clock_.Advance(PodWatch::kAskNs / 4);
  watch_.Look();
  EXPECT_EQ(server_.calls.size(), 1u) << "at most one request per second";
  here_.clear();
  clock_.Advance(PodWatch::kAskNs / 4);
  watch_.Look();
  EXPECT_EQ(server_.calls.size(), 2u);
}

TEST_F(PodWatchTest, FaultsAreReportedInHealth) {
  Look();
  here_.clear();
  const std::pair<std::function<StatusOr<HttpReply>()>, const char*> faults[] = {
      {[] {
         return HttpReply{401, {}, "Unauthorized"};
       },
       "permission to list pods"},
      {[] {
         return HttpReply{403, {}, "forbidden"};
       },
       "permission to list pods"},
      {[] {
         return HttpReply{500, {}, "\x1b[2Jboom"};
       },
       "response 500: "},
      {[] {
         return HttpReply{200, {}, "{\"kind\":"};
       },
       "collector.pods.url"},
      {[] {
         return HttpReply{200, {}, "{}"};
       },
       "must be PodList"},
      {[] { return StatusOr<HttpReply>(absl::ResourceExhaustedError("response too long")); },
       "too long"},
      {[] { return StatusOr<HttpReply>(absl::DeadlineExceededError("no response in 5 s")); },
       "no response"},
  };
  for (const auto& [answer, why] : faults) {
    server_.answer = answer;
    const size_t asked = server_.calls.size();
    while (server_.calls.size() == asked) Look();
    EXPECT_THAT(std::string(watch_.health().message()), HasSubstr(why));
    EXPECT_THAT(std::string(watch_.health().message()), ::testing::Not(HasSubstr("\x1b")));
    if (clock_.MonotonicNs() > PodWatch::kAwaitNs / 2) break;
  }
  // None of the faults changes the reported end.
  EXPECT_THAT(reported_, ElementsAre("0: pending"));
}

TEST_F(PodWatchTest, PausesGrowAfterFailures) {
  Look();
  here_.clear();
  server_.Gives(500, "");
  for (int i = 0; i < 120; ++i) Look();
  EXPECT_GE(server_.calls.size(), 5u);
  EXPECT_LE(server_.calls.size(), 8u) << "after 0, 1, 3, 7, 15, 31 s";
  // The wait has timed out, so a later status no longer belongs to any rank.
  server_.Gives(200, PodListOf(PodText({.status = Terminated(1, "Error")})));
  for (int i = 0; i < 60; ++i) Look();
  EXPECT_THAT(reported_, ElementsAre("0: pending"));
}

TEST_F(PodWatchTest, MissingPod_WatchWaitsForOneMinute) {
  Look();
  here_.clear();
  server_.Gives(200, PodListOf(""));
  for (int i = 0; i < 300; ++i) Look();
  EXPECT_THAT(reported_, ElementsAre("0: pending"));
  EXPECT_TRUE(watch_.health().ok());
  EXPECT_GE(server_.calls.size(), 55u);
  EXPECT_LE(server_.calls.size(), 62u);
}

TEST_F(PodWatchTest, MissingTokenIsReportedInHealth) {
  Look();
  here_.clear();
  root_.Remove("token");
  Look();
  EXPECT_THAT(std::string(watch_.health().message()), HasSubstr("contains no token"));
  EXPECT_THAT(server_.calls, IsEmpty());
  root_.Write("token", "other");
  server_.Gives(200, PodListOf(PodText({.status = Terminated(3, "Error")})));
  for (int i = 0; i < 3; ++i) Look();
  EXPECT_THAT(reported_, ElementsAre("0: pending", "0: exit code 3 (only rank)"));
}

TEST_F(PodWatchTest, StartsAndStops) {
  watch_.Start();
  watch_.Stop();
  watch_.Stop();
}

}  // namespace
}  // namespace pitwall::collector
