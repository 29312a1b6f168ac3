// Tests a node's captures: the two samples, their source, and misbehaving clients.
#include "services/collector/capture/node_captures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/collector/files/testing/temporary_root.h"
#include "services/collector/processes/process_snapshot.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

namespace pb = ::pitwall::client::v1;
using ::testing::HasSubstr;

class NodeCapturesTest : public ::testing::Test {
 protected:
  NodeCapturesTest()
      : time_(clock_),
        states_(clock_),
        captures_({.node = "n1",
                   .root = root_.path(),
                   .deliver = [this](RankCapture capture) { got_.push_back(std::move(capture)); }},
                  time_, clock_, &counters_, &states_) {
    AddRank(0);
  }

  // Adds a rank. The PID of its process is 100 + rank.
  void AddRank(int64_t rank, bool answers = true) {
    const auto client = static_cast<uint64_t>(rank + 10);
    ranks_.push_back({.client = client,
                      .answers = answers,
                      .job = "job-1",
                      .job_name = "train",
                      .owner = "uid:7",
                      .rank = rank,
                      .world_size = 4,
                      .process = {100 + rank, 5},
                      .phase = "forward",
                      .mode = "train",
                      .step_plus_one = 3});
    SetProcess(rank, 'S', 100);
  }
  void SetProcess(int64_t rank, char state, int ticks, uint64_t io = 1000) {
    const std::string dir = Cat("proc/", 100 + rank);
    const std::string stat = Cat(100 + rank, " (py) th) ", std::string(1, state),
                                 " 1 1 1 0 -1 4 1 0 0 0 ", ticks, " 0 0 0 20 0 1 0 5 1 1\n");
    root_.Write(dir + "/stat", stat);
    root_.Write(dir + "/io",
                Cat("rchar: ", io, "\nwchar: 0\nsyscr: 7\nread_bytes: 0\nwrite_bytes: 0\n"));
    root_.Write(Cat(dir, "/task/", 100 + rank, "/stat"), stat);
    root_.Write(Cat(dir, "/task/", 100 + rank, "/wchan"), "futex_wait_queue");
    root_.Write(Cat(dir, "/task/", 100 + rank, "/syscall"), "202 0x1 0x2\n");
    root_.Write(Cat(dir, "/task/", 100 + rank, "/stack"),
                "[<0>] futex_wait_queue+0x60/0x90\n[<0>] do_futex+0x1/0x2\n");
    root_.Write(Cat(dir, "/task/", 900 + rank, "/stat"),
                Cat(900 + rank, " (pt_nccl) S 1 1 1 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 5 1 1\n"));
  }
  void RequestCapture(std::string id = "r1", std::string job = "job-1",
                      std::vector<int64_t> ranks = {}) {
    captures_.Request({std::move(id), std::move(job), std::move(ranks), "issue-1", "act",
                       EventTime::FromNs(clock_.WallNs() + 10 * kNanosPerSecond)});
    Step();
  }
  void Step(int64_t ns = 0) {
    clock_.Advance(ns);
    captures_.Step([this](const CaptureRequest& request) {
      return request.job == "job-1" ? ranks_ : std::vector<CaptureRank>();
    });
  }
  // Returns the messages to clients, as "client:sample".
  std::vector<std::string> Asked() {
    std::vector<std::string> asked;
    for (const auto& [client, bytes] : captures_.Messages()) {
      pb::CollectorMessage message;
      EXPECT_TRUE(message.ParseFromString(bytes));
      asked.push_back(Cat(client, ":", message.capture().id(), ":", message.capture().look()));
    }
    return asked;
  }
  static pb::Captured AnswerOf(uint32_t look, std::string_view frame = "wait (a.py:1)",
                               std::string_view id = "r1") {
    pb::Captured answer;
    answer.set_id(std::string(id));
    answer.set_look(look);
    answer.set_phase("backward");
    answer.set_mode("train");
    answer.set_step_plus_one(8);
    auto* thread = answer.add_threads();
    thread->set_id(100);
    thread->set_name("MainThread");
    thread->set_main(true);
    thread->add_frames(std::string(frame));
    return answer;
  }
  void Answer(uint64_t client, const pb::Captured& answer) {
    captures_.Answered(client, answer, answer.ByteSizeLong());
  }

  TestRoot root_;
  fakes::FakeClock clock_;
  MonotonicEventClock time_;
  Counters counters_;
  CaptureStates states_;
  std::vector<RankCapture> got_;
  std::vector<CaptureRank> ranks_;
  NodeCaptures captures_;
};

TEST_F(NodeCapturesTest, UnchangedSamples_YieldBlockedState) {
  RequestCapture();
  EXPECT_EQ(Asked(), std::vector<std::string>{"10:r1:1"});
  Answer(10, AnswerOf(1));
  Step(kCaptureGapNs - 1);
  EXPECT_TRUE(Asked().empty());
  Step(1);
  EXPECT_EQ(Asked(), std::vector<std::string>{"10:r1:2"});
  EXPECT_TRUE(got_.empty());
  Answer(10, AnswerOf(2));
  Step();
  ASSERT_EQ(got_.size(), 1u);
  const RankCapture& c = got_[0];
  EXPECT_EQ(c.state, CaptureState::kBlocked);
  EXPECT_EQ(c.source, "client");
  EXPECT_EQ(c.request, "r1");
  EXPECT_EQ(c.issue, "issue-1");
  EXPECT_EQ(c.job_name, "train");
  EXPECT_EQ(c.world_size, 4);
  EXPECT_EQ(c.pid, 100);
  EXPECT_EQ(c.look.step_plus_one, 8u);
  EXPECT_EQ(c.look.phase, "backward");
  EXPECT_EQ(c.change.same_stacks, true);
  EXPECT_EQ(c.change.io_bytes, 0u);
  // Native threads are listed after the Python threads, and each thread has the kernel's state.
  ASSERT_EQ(c.look.threads.size(), 2u);
  EXPECT_EQ(c.look.threads[0].frames, std::vector<std::string>{"wait (a.py:1)"});
  EXPECT_EQ(c.look.threads[0].system, "sleeping, in futex_wait_queue, system call 202");
  EXPECT_EQ(c.look.threads[1].name, "pt_nccl (native)");
  EXPECT_FALSE(captures_.active());
}

TEST_F(NodeCapturesTest, ProgressBetweenSamples_YieldsBusyState) {
  RequestCapture();
  Answer(10, AnswerOf(1));
  Step(kCaptureGapNs);
  pb::Captured next = AnswerOf(2);
  next.set_step_plus_one(9);
  Answer(10, next);
  Step();
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].state, CaptureState::kBusy);
  EXPECT_TRUE(got_[0].change.went_on);
}

TEST_F(NodeCapturesTest, ChangedStacks_YieldBusyState) {
  RequestCapture();
  Answer(10, AnswerOf(1));
  Step(kCaptureGapNs);
  Answer(10, AnswerOf(2, "evaluate (a.py:9)"));
  Step();
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].state, CaptureState::kBusy);
  EXPECT_EQ(got_[0].change.same_stacks, false);
}

TEST_F(NodeCapturesTest, StoppedProcess_IsCapturedBySystem) {
  SetProcess(0, 'T', 100);
  RequestCapture();
  Step(kCaptureGapNs);
  Step(NodeCaptures::kAnswerNs - 1);
  EXPECT_TRUE(got_.empty());
  Step(1);
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].state, CaptureState::kStopped);
  EXPECT_EQ(got_[0].source, "system");
  EXPECT_THAT(got_[0].why_system, HasSubstr("stopped"));
  EXPECT_EQ(got_[0].look.threads[0].system, "stopped, in futex_wait_queue, system call 202");
  EXPECT_EQ(got_[0].look.threads[0].frames,
            (std::vector<std::string>{"futex_wait_queue", "do_futex"}));
  EXPECT_EQ(got_[0].look.phase, "forward");  // from the rank's last update
}

TEST_F(NodeCapturesTest, BlockedInterpreter_IsCapturedBySystem) {
  RequestCapture();
  Step(kCaptureGapNs);
  SetProcess(0, 'R', 100);
  Step(NodeCaptures::kAnswerNs);
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].state, CaptureState::kBlocked);  // the process used neither CPU time nor I/O
  EXPECT_THAT(got_[0].why_system, HasSubstr("native code holds the interpreter"));
  got_.clear();
  RequestCapture("r2");
  SetProcess(0, 'R', 400);
  Step(kCaptureGapNs);
  Step(NodeCaptures::kAnswerNs);
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].state, CaptureState::kBusy);
}

TEST_F(NodeCapturesTest, OldOrDisconnectedClients_AreCapturedBySystem) {
  ranks_[0].answers = false;
  AddRank(1);
  ranks_[1].client.reset();
  RequestCapture();
  EXPECT_TRUE(Asked().empty());
  Step(kCaptureGapNs);
  Step();
  ASSERT_EQ(got_.size(), 2u);
  EXPECT_THAT(got_[0].why_system, HasSubstr("does not support captures"));
  EXPECT_THAT(got_[1].why_system, HasSubstr("connection to the collector is lost"));
}

TEST_F(NodeCapturesTest, ProcessEndsDuringCapture_CaptureHasNoResult) {
  RequestCapture();
  std::filesystem::remove_all(root_.At("proc/100"));
  captures_.Closed(10);
  ranks_.clear();
  Step(kCaptureGapNs);
  Step(NodeCaptures::kAnswerNs);
  EXPECT_TRUE(got_.empty());
  EXPECT_EQ(counters_.captures_gone, 1u);
}

TEST_F(NodeCapturesTest, CapturesOnlyRequestedRanks) {
  AddRank(1);
  AddRank(2);
  RequestCapture("r1", "job-1", {0, 2, 9});
  EXPECT_EQ(Asked(), (std::vector<std::string>{"10:r1:1", "12:r1:1"}));
}

TEST_F(NodeCapturesTest, DuplicateAndExpiredRequestsAreRejected) {
  RequestCapture();
  Asked();
  Step(kCaptureGapNs);
  Step(NodeCaptures::kAnswerNs);
  ASSERT_EQ(got_.size(), 1u);
  Asked();
  RequestCapture();  // repeats the ID
  EXPECT_TRUE(Asked().empty());
  EXPECT_FALSE(captures_.active());
  captures_.Request({"old", "job-1", {}, "", "act", EventTime::FromNs(clock_.WallNs())});
  Step();
  EXPECT_TRUE(Asked().empty());
  EXPECT_EQ(counters_.captures_refused, 1u);
}

TEST_F(NodeCapturesTest, RunsOneCapturePerJobAtATime) {
  RequestCapture("a");
  RequestCapture("b");
  EXPECT_EQ(Asked(), std::vector<std::string>{"10:a:1"});
  Step(kCaptureGapNs);
  Step(NodeCaptures::kAnswerNs);
  Step();
  EXPECT_EQ(Asked(), (std::vector<std::string>{"10:a:2", "10:b:1"}));
}

TEST_F(NodeCapturesTest, RequestQueueIsLimited) {
  RequestCapture("first");
  for (size_t i = 0; i < NodeCaptures::kWaiting + 5; ++i)
    captures_.Request({Cat("w", i),
                       "job-1",
                       {},
                       "",
                       "act",
                       EventTime::FromNs(clock_.WallNs() + kNanosPerSecond)});
  EXPECT_EQ(counters_.captures_refused, 5u);
}

TEST_F(NodeCapturesTest, InvalidAnswersAreIgnored) {
  AddRank(1);
  RequestCapture();
  Answer(11, AnswerOf(1, "mine (b.py:2)"));
  Answer(11, AnswerOf(1, "again (b.py:2)"));  // duplicate answer
  Answer(11, AnswerOf(2, "early (b.py:2)"));  // this sample was not requested yet
  Answer(11, AnswerOf(0));                    // there is no such sample
  Answer(11, AnswerOf(3));
  Answer(11, AnswerOf(1, "other (b.py:2)", "r9"));  // the answer is for another capture
  Answer(77, AnswerOf(1, "alien (b.py:2)"));        // the client belongs to another job
  EXPECT_EQ(counters_.captures_unasked, 6u);
  Answer(10, AnswerOf(1));
  Step(kCaptureGapNs);
  pb::Captured long_answer = AnswerOf(2);
  long_answer.mutable_threads(0)->set_frames(0, std::string(70'000, 'x'));
  Answer(10, long_answer);
  Answer(10, AnswerOf(2));  // too late, because the answer was already rejected
  pb::Captured wide = AnswerOf(2, "mine (b.py:2)");
  wide.mutable_threads(0)->set_id(101);
  for (int i = 0; i < 100; ++i) {
    auto* thread = wide.add_threads();
    thread->set_name("\x1b[31m" + std::string(300, 'n'));
    for (int k = 0; k < (i == 0 ? 100 : 0); ++k) thread->add_frames("f");
  }
  Answer(11, wide);
  Step();
  ASSERT_EQ(got_.size(), 2u);
  EXPECT_EQ(got_[0].source, "system");
  EXPECT_THAT(got_[0].why_system, HasSubstr("the limit is 65536"));
  EXPECT_EQ(got_[1].source, "client");
  EXPECT_EQ(got_[1].look.threads[0].frames, std::vector<std::string>{"mine (b.py:2)"});
  EXPECT_LE(got_[1].look.threads.size(), kMaxCaptureThreads);
  EXPECT_EQ(got_[1].look.threads[1].frames.size(), kMaxCaptureFrames);
  EXPECT_EQ(got_[1].look.threads[1].name.find('\x1b'), std::string::npos);
  EXPECT_EQ(got_[1].left_out, 37u + 36u);
}

TEST_F(NodeCapturesTest, StateIsKeptUntilRankEntersNextStep) {
  RequestCapture();
  Step(kCaptureGapNs);
  Step(NodeCaptures::kAnswerNs);
  const std::pair<int64_t, CaptureState> blocked = {0, CaptureState::kBlocked};
  EXPECT_EQ(states_.Of("job-1"), std::vector{blocked});
  EXPECT_TRUE(states_.Of("job-2").empty());
  states_.Moved("job-1", 0, 3);  // the rank is still in the same step
  clock_.Advance(100 * kNanosPerSecond);
  EXPECT_EQ(states_.Of("job-1"), std::vector{blocked});
  states_.Moved("job-1", 0, 4);
  EXPECT_TRUE(states_.Of("job-1").empty());
  states_.Set("job-1", 0, 3, CaptureState::kBusy);
  states_.Moved("job-1", 0, 4);
  EXPECT_EQ(states_.Of("job-1").size(), 1u);  // the state is kept for kSeenNs
  clock_.Advance(CaptureStates::kSeenNs);
  EXPECT_TRUE(states_.Of("job-1").empty());
  states_.Set("job-1", 0, 3, CaptureState::kBusy);
  clock_.Advance(CaptureStates::kHoldNs);
  EXPECT_TRUE(states_.Of("job-1").empty());
  states_.Set("job-1", 0, 3, CaptureState::kBusy);
  states_.Gone("job-1", 0);
  EXPECT_TRUE(states_.Of("job-1").empty());
}

TEST_F(NodeCapturesTest, SeriesHasNodeRankAndState) {
  const ReaderContext context{root_.path(), "n1", &counters_};
  const auto reader = NewCaptureStateReader(context, &states_, "job-1");
  EXPECT_FALSE(reader->Read());
  states_.Set("job-1", 3, 1, CaptureState::kLoader);
  EXPECT_TRUE(reader->Read());
  EXPECT_FALSE(reader->Read());
  std::vector<SeriesDescriptor> series;
  reader->Describe(&series);
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].labels.ToString(),
            "pitwall_capture_state{node=\"n1\",rank=\"3\",state=\"loader\"}");
  double row[1] = {};
  EXPECT_EQ(reader->Fill(row), row + 1);
  EXPECT_EQ(row[0], 1);
}

TEST(ProcessSnapshot, ReusedPid_IsNotInspected) {
  TestRoot root;
  root.Write("proc/9/stat", "9 (a) S 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 77 1 1\n");
  EXPECT_TRUE(InspectProcess(root.path(), {9, 77}).has_value());
  EXPECT_FALSE(InspectProcess(root.path(), {9, 78}).has_value());
  EXPECT_FALSE(InspectProcess(root.path(), {8, 77}).has_value());
  EXPECT_FALSE(InspectProcess(root.path(), {0, 0}).has_value());
  EXPECT_EQ(InspectProcess(root.path(), {9, 77})->io_bytes, std::nullopt);
}

}  // namespace
}  // namespace pitwall::collector
