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

  std::vector<std::string> told_;
  std::vector<std::string> owners_;
  PodWatch watch_{
      Options(),
      &clock_,
      &server_,
      [this] { return here_; },
      [this](const PodWatch::Rank& rank, const std::optional<PlatformEnd>& end) {
        told_.push_back(Cat(rank.rank, ": ", end ? TextOf(*end) : "will be told",
                            end && end->rank ? " of it alone" : ""));
      },
      [](const PodWatch::Rank&, const JobReference&) { FAIL() << "nobody wants to know"; }};
  // Likewise, and it asks for owners.
  PodWatch curious_{
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
    curious_.Look();
  }
};

// It came and went between two rounds.
TEST_F(PodWatchTest, ARankThatIsHereForAMomentOnly) {
  watch_.Arrive(Rank(0, 100));
  root_.Remove("proc/100/cgroup");
  here_.clear();
  server_.Gives(200, PodListOf(PodText({.status = Terminated(137, "OOMKilled")})));
  Look();
  EXPECT_THAT(told_, ElementsAre("0: will be told", "0: out of memory of it alone"));
}

// It came while a round looked who is here.
TEST_F(PodWatchTest, ARankThatArrivesDuringARoundHasNotLeft) {
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

TEST_F(PodWatchTest, TheObjectThatOwnsAPodIsAskedForOnce) {
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(owners_, ElementsAre("j: kubernetes research Job bert a1"));
  EXPECT_EQ(server_.calls.size(), 1u);
  here_[0].has_object = false;  // the job was declared for another owner
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(owners_, ::testing::SizeIs(2));
  EXPECT_EQ(server_.calls.size(), 2u);
}

TEST_F(PodWatchTest, AJobThatNamesItsObjectIsNotAskedFor) {
  here_[0].has_object = true;
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(server_.calls, IsEmpty());
}

TEST_F(PodWatchTest, APodWithoutAnOwnerIsNotAskedForAgain) {
  server_.Gives(200, PodListOf(""));
  for (int i = 0; i < 5; ++i) LookForOwners();
  EXPECT_THAT(owners_, IsEmpty());
  EXPECT_EQ(server_.calls.size(), 1u);
}

TEST_F(PodWatchTest, AServerInTroubleDelaysTheOwner) {
  server_.Gives(500, "busy");
  LookForOwners();
  EXPECT_FALSE(curious_.health().ok());
  server_.Gives(200, PodListOf(PodText({.status = R"({"running":{}})"})));
  for (int i = 0; i < 3; ++i) LookForOwners();
  EXPECT_THAT(owners_, ::testing::SizeIs(1));
  EXPECT_TRUE(curious_.health().ok());
}

TEST_F(PodWatchTest, TellsHowARankEndedAndAsksNobodyBefore) {
  for (int i = 0; i < 10; ++i) Look();
  EXPECT_THAT(server_.calls, IsEmpty());
  EXPECT_THAT(told_, ElementsAre("0: will be told"));
  here_.clear();
  Look();
  ASSERT_EQ(server_.calls.size(), 1u);
  EXPECT_EQ(server_.calls[0].method, "GET");
  EXPECT_THAT(server_.calls[0].headers, ::testing::Contains(std::pair<std::string, std::string>(
                                            "authorization", "Bearer secret")));
  server_.Gives(200, PodListOf(PodText({.status = Terminated(137, "OOMKilled")})));
  Look();
  EXPECT_THAT(told_, ElementsAre("0: will be told", "0: out of memory of it alone"));
  for (int i = 0; i < 10; ++i) Look();
  EXPECT_EQ(server_.calls.size(), 2u) << "nothing is awaited any more";
}

TEST_F(PodWatchTest, TheStatusOfAContainerWithTwoRanksIsOfNoRankAlone) {
  Process(101);
  here_.push_back(Rank(1, 101));
  Look();
  here_.clear();
  server_.Gives(200, PodListOf(PodText({.status = Terminated(1, "Error")})));
  Look();
  EXPECT_THAT(
      told_, ElementsAre("0: will be told", "1: will be told", "0: exit code 1", "1: exit code 1"));
}

TEST_F(PodWatchTest, ARankInNoPodIsNobodysBusiness) {
  root_.Write("proc/200/cgroup", "0::/user.slice\n");
  here_ = {Rank(0, 200), Rank(1, 999)};
  Look();
  here_.clear();
  Look();
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_THAT(server_.calls, IsEmpty());
}

TEST_F(PodWatchTest, ARankThatComesBackWasNotGone) {
  Look();
  here_.clear();
  Look();
  here_ = {Rank(0, 100)};
  Look();
  server_.Gives(200, PodListOf(PodText({.status = Terminated(1, "Error")})));
  for (int i = 0; i < 5; ++i) Look();
  EXPECT_EQ(server_.calls.size(), 1u);
  EXPECT_THAT(told_, ElementsAre("0: will be told"));
}

TEST_F(PodWatchTest, ARankThatEndsIsAskedForAtOnceWhateverOthersWaitFor) {
  Process(101);
  here_.push_back(Rank(1, 101));
  Look();
  here_.erase(here_.begin());
  Look();
  clock_.Advance(PodWatch::kAskNs / 4);
  watch_.Look();
  EXPECT_EQ(server_.calls.size(), 1u) << "each second";
  here_.clear();
  clock_.Advance(PodWatch::kAskNs / 4);
  watch_.Look();
  EXPECT_EQ(server_.calls.size(), 2u);
}

TEST_F(PodWatchTest, FaultsAreToldAndCostLittle) {
  Look();
  here_.clear();
  const std::pair<std::function<StatusOr<HttpReply>()>, const char*> faults[] = {
      {[] {
         return HttpReply{401, {}, "Unauthorized"};
       },
       "right to list pods"},
      {[] {
         return HttpReply{403, {}, "forbidden"};
       },
       "right to list pods"},
      {[] {
         return HttpReply{500, {}, "\x1b[2Jboom"};
       },
       "answer 500: "},
      {[] {
         return HttpReply{200, {}, "{\"kind\":"};
       },
       "collector.pods.url"},
      {[] {
         return HttpReply{200, {}, "{}"};
       },
       "not PodList"},
      {[] { return StatusOr<HttpReply>(absl::ResourceExhaustedError("answer too long")); },
       "too long"},
      {[] { return StatusOr<HttpReply>(absl::DeadlineExceededError("no answer in 5 s")); },
       "no answer"},
  };
  for (const auto& [answer, why] : faults) {
    server_.answer = answer;
    const size_t asked = server_.calls.size();
    while (server_.calls.size() == asked) Look();
    EXPECT_THAT(std::string(watch_.health().message()), HasSubstr(why));
    EXPECT_THAT(std::string(watch_.health().message()), ::testing::Not(HasSubstr("\x1b")));
    if (clock_.MonotonicNs() > PodWatch::kAwaitNs / 2) break;
  }
  // A token that is gone.
  EXPECT_THAT(told_, ElementsAre("0: will be told"));
}

TEST_F(PodWatchTest, PausesGrowWhileRequestsFail) {
  Look();
  here_.clear();
  server_.Gives(500, "");
  for (int i = 0; i < 120; ++i) Look();
  EXPECT_GE(server_.calls.size(), 5u);
  EXPECT_LE(server_.calls.size(), 8u) << "after 0, 1, 3, 7, 15, 31 s";
  // By now nobody waits any more: what comes later is of no rank.
  server_.Gives(200, PodListOf(PodText({.status = Terminated(1, "Error")})));
  for (int i = 0; i < 60; ++i) Look();
  EXPECT_THAT(told_, ElementsAre("0: will be told"));
}

TEST_F(PodWatchTest, APodThatVanishedIsAwaitedForAMinute) {
  Look();
  here_.clear();
  server_.Gives(200, PodListOf(""));
  for (int i = 0; i < 300; ++i) Look();
  EXPECT_THAT(told_, ElementsAre("0: will be told"));
  EXPECT_TRUE(watch_.health().ok());
  EXPECT_GE(server_.calls.size(), 55u);
  EXPECT_LE(server_.calls.size(), 62u);
}

TEST_F(PodWatchTest, ATokenThatIsGoneIsTold) {
  Look();
  here_.clear();
  root_.Remove("token");
  Look();
  EXPECT_THAT(std::string(watch_.health().message()), HasSubstr("no token in it"));
  EXPECT_THAT(server_.calls, IsEmpty());
  root_.Write("token", "other");
  server_.Gives(200, PodListOf(PodText({.status = Terminated(3, "Error")})));
  for (int i = 0; i < 3; ++i) Look();
  EXPECT_THAT(told_, ElementsAre("0: will be told", "0: exit code 3 of it alone"));
}

TEST_F(PodWatchTest, StartsAndStops) {
  watch_.Start();
  watch_.Stop();
  watch_.Stop();
}

}  // namespace
}  // namespace pitwall::collector
