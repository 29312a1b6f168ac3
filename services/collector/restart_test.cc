// Tests that a collector resumes the ranks of the previous collector (time-model.md, scenarios 13
// and 15).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/publishing/client_cursors.h"
#include "services/collector/ranks/testing/decode.h"
#include "services/collector/testing/collector_fixture.h"

namespace pitwall::collector {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr int64_t kMs = kNanosPerMilli;
constexpr int64_t kSecond = kNanosPerSecond;

// Rank with 200 ms steps: 80 ms for the forward phase and the rest for the backward phase. Its
// client reports finished steps and the current phase. DecodeAll checks for duplicates, late data,
// and gaps.
class RestartTest : public CollectorTest {
 protected:
  RestartTest() { options_.socket_path = root_.At("socket"); }

  // Reconnects with the same boot ID.
  client::v1::Welcome Hello(bool resends = false) {
    client_.emplace(options_.socket_path);
    auto hello = HelloOf(0, start_);
    hello.mutable_hello()->set_keeps_until_written(resends);
    client_->Send(hello);
    return client_->ReadWelcome();
  }
  // Resends the updates starting at sequence `from`.
  void Resend(uint64_t from) {
    for (; from <= sent_.size(); ++from) {
      const double before = Counter("pitwall_collector_client_messages_total");
      client_->Send(sent_[from - 1]);
      while (Counter("pitwall_collector_client_messages_total") == before) {
      }
    }
  }
  // Waits until a counter that another thread updates reaches `value`.
  void AwaitCounter(std::string_view name, double value) {
    while (Counter(name) < value) {
    }
    EXPECT_EQ(Counter(name), value) << name;
  }
  // Simulates a kill: the next collector uses a copy of the current files. (The current collector
  // then stops normally, but its files are no longer used.)
  void Kill() {
    Settle();
    options_.spool_dir = root_.At(Cat("spool-", ++kills_));
    std::filesystem::copy(root_.At(kills_ == 1 ? "spool" : Cat("spool-", kills_ - 1)),
                          options_.spool_dir, std::filesystem::copy_options::recursive);
    StopIt();
  }
  // Simulates `steps` steps. `connected` means that the client is connected to a collector.
  void Train(int steps, bool connected) {
    for (int i = 0; i < steps; ++i) {
      const int64_t from = clock_.WallNs();
      AddSpan(&update_, client::v1::SPAN_KIND_PHASE, "forward", from, from + 80 * kMs, step_);
      Pass(80 * kMs);
      if (connected) SendUpdate("backward", from + 80 * kMs);
      AddSpan(&update_, client::v1::SPAN_KIND_PHASE, "backward", from + 80 * kMs, from + 200 * kMs,
              step_);
      AddSpan(&update_, client::v1::SPAN_KIND_STEP, "", from, from + 200 * kMs, step_);
      Pass(120 * kMs);
      ++step_;
      if (connected) SendUpdate("forward", from + 200 * kMs);
    }
  }
  // Sends the pending data and the current phase. Like a real client, it promises the current time.
  void SendUpdate(std::string_view phase, int64_t since_ns) {
    auto* update = update_.mutable_update();
    update->set_sequence(++sequence_);
    update->set_promise_unix_ns(clock_.WallNs());
    update->set_phase(std::string(phase));
    update->set_phase_since_unix_ns(since_ns);
    update->set_step_plus_one(static_cast<uint64_t>(step_ + 1));
    update->set_mode("train");
    const double before = Counter("pitwall_collector_client_messages_total");
    sent_.push_back(update_);
    client_->Send(update_);
    while (Counter("pitwall_collector_client_messages_total") == before) {
    }
    update_.Clear();
  }
  // Advances the clock. A collector need not be running.
  void Pass(int64_t ns) { collector_ == nullptr ? clock_.Advance(ns) : Advance(ns, 40 * kMs); }
  void StopIt() {
    collector_->Stop();
    collector_.reset();
    options_.new_boot_id = [n = ++stops_] { return Cat("another", n); };
  }
  // Returns the rank's samples of matching series, as "<ms since the start>[/<step>] <value>".
  std::vector<std::string> Samples(std::string_view series) const {
    std::vector<std::string> out;
    for (const ReadBatch& batch : Of(DecodeAll(appender_.records()), "job-1", "rank-0")) {
      for (const ReadSample& sample : batch.samples) {
        if (StartsWith(sample.series, series)) {
          out.push_back(Cat((sample.time_ns - start_) / kMs,
                            sample.step == kNoStep ? "" : Cat("/", sample.step), " ",
                            FormatDouble(sample.value)));
        }
      }
    }
    return out;
  }

  const int64_t start_ = clock_.WallNs();
  std::optional<TestClient> client_;
  client::v1::ClientMessage update_;
  std::vector<client::v1::ClientMessage> sent_;
  int kills_ = 0;
  int stops_ = 0;
  uint64_t sequence_ = 0;
  int64_t step_ = 0;
};

TEST_F(RestartTest, Restart_DoesNotLoseDelayOrDuplicateData) {
  Start();
  Hello();
  Train(6, true);  // trains until 1200 ms
  StopIt();
  Train(4, false);  // the client keeps these updates
  Start();
  Hello();
  Train(1, true);  // trains until 2200 ms
  StopIt();
  EXPECT_THAT(Samples("train_step{"),
              ElementsAre("200/0 0", "400/1 1", "600/2 2", "800/3 3", "1000/4 4", "1200/5 5",
                          "1400/6 6", "1600/7 7", "1800/8 8", "2000/9 9", "2200/10 10"));
  // Phases during the restart are included.
  EXPECT_THAT(Samples("train_phase_state{phase=backward"),
              IsSupersetOf({"1080 1", "1200 0", "1280 1", "1400 0", "1680 1", "1800 0", "2080 1"}));
}

TEST_F(RestartTest, CurrentPhaseIsRepublishedAfterRestart) {
  Start();
  Hello();
  Train(6, true);
  const int64_t since = clock_.WallNs();
  SendUpdate("collective", since);
  Pass(kSecond);
  SendUpdate("collective", since);
  StopIt();
  Pass(2 * kSecond);
  Start();
  Hello();
  Pass(100 * kMs);
  SendUpdate("collective", since);
  Pass(100 * kMs);
  SendUpdate("collective", since);
  StopIt();
  const auto states = Samples("train_phase_state{phase=collective");
  EXPECT_THAT(states, Contains("1200 1"));
  EXPECT_THAT(states, Contains("4300 1"));
  EXPECT_THAT(states, Not(Contains("4300 0")));
}

// The client resends updates starting at the collector's position. They include data that waited
// for the end of a step.
TEST_F(RestartTest, Kill_ResendsMissingUpdatesWithoutDuplicates) {
  options_.spool_dir = root_.At("spool");
  Start();
  const auto first = Hello(true);
  EXPECT_TRUE(first.sends_written());
  EXPECT_EQ(first.written_sequence(), 0u);
  Train(3, true);
  client_->AwaitWritten(6);
  const int64_t from = clock_.WallNs();
  AddSpan(&update_, client::v1::SPAN_KIND_PHASE, "forward", from, from + 80 * kMs, 3);
  Pass(80 * kMs);
  SendUpdate("backward", from + 80 * kMs);  // update 7, whose phase waits for the end of the step
  Pass(20 * kMs);
  SendUpdate("backward", from + 80 * kMs);  // update 8, which is empty
  for (int kill = 0; kill < 2; ++kill) {
    Kill();
    clock_.Advance(kSecond);
    Start();
    const auto welcome = Hello(true);
    EXPECT_EQ(welcome.written_sequence(), 6u);
    EXPECT_EQ(welcome.received_sequence(), 6u);
    Resend(7);
    AwaitCounter("pitwall_collector_client_updates_repeated_total", 2);
  }
  const int64_t end = clock_.WallNs();
  AddSpan(&update_, client::v1::SPAN_KIND_PHASE, "backward", from + 80 * kMs, end, 3);
  AddSpan(&update_, client::v1::SPAN_KIND_STEP, "", from, end, 3);
  ++step_;
  SendUpdate("forward", end);  // update 9
  client_->AwaitWritten(9);
  // The connection breaks again, but the collector already has all updates.
  const auto again = Hello(true);
  EXPECT_EQ(again.written_sequence(), 9u);
  EXPECT_EQ(again.received_sequence(), 9u);
  Resend(8);  // the collector ignores the duplicates
  StopIt();
  const int64_t end_ms = (end - start_) / kMs;
  EXPECT_THAT(Samples("train_step{"),
              ElementsAre("200/0 0", "400/1 1", "600/2 2", Cat(end_ms, "/3 3")));
  EXPECT_THAT(Samples("train_phase_duration_seconds{phase=forward"),
              ElementsAre("200/0 0.08", "400/1 0.08", "600/2 0.08", Cat(end_ms, "/3 0.08")));
  size_t spans = 0;
  for (const ReadBatch& batch : Of(DecodeAll(appender_.records()), "job-1", "rank-0"))
    spans += batch.spans.size();
  EXPECT_EQ(spans, 12u);
}

// Records that have not reached the log are in the spool, so the client need not resend their
// updates.
TEST_F(RestartTest, KillWhileLogIsUnavailable_KeepsSpooledUpdates) {
  options_.spool_dir = root_.At("spool");
  appender_.Fail(-1);
  Start();
  Hello(true);
  Train(3, true);
  client_->AwaitWritten(6);
  Kill();
  appender_.Heal();
  Start();
  EXPECT_EQ(Hello(true).written_sequence(), 6u);
  Train(1, true);
  client_->AwaitWritten(8);
  StopIt();
  EXPECT_THAT(Samples("train_step{"), ElementsAre("200/0 0", "400/1 1", "600/2 2", "800/3 3"));
}

// A client with the previous version does not resend updates, so its missing updates are counted.
TEST_F(RestartTest, OldClient_CountsMissingUpdates) {
  options_.spool_dir = root_.At("spool");
  Start();
  EXPECT_EQ(Hello().received_sequence(), 0u);
  Train(3, true);
  Resend(sent_.size());  // once the resent update is counted, the last update has been handled
  Kill();
  ++sequence_;  // this update was sent but is lost with the collector
  Start();
  Hello();
  Train(1, true);
  AwaitCounter("pitwall_collector_client_updates_missed_total", 1);
  StopIt();
}

// Without a spool, data held by a killed collector is lost, but updates in the log are confirmed.
TEST_F(RestartTest, WithoutSpool_WrittenUpdatesAreInLog) {
  Start();
  Hello(true);
  Train(2, true);
  client_->AwaitWritten(4);
  EXPECT_THAT(Samples("train_step{"), ElementsAre("200/0 0", "400/1 1"));
  StopIt();
}

// Tests rank ends while no collector is running (issue 10, A6).
class UnseenTest : public RestartTest {
 protected:
  UnseenTest() {
    options_.spool_dir = root_.At("spool");
    Home("boot-a", "pid:[1]");
    Process(777);
    root_.Write("proc/4000/stat", Stat(4000, 1, 555));
    Start();
    Hello(true);
    Train(3, true);
    client_->AwaitWritten(6);
  }
  static std::string Stat(int pid, int parent, int start) {
    return Cat(pid, " (a) R ", parent, " 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 ", start, " 1 1\n");
  }
  void Process(int start) {
    WriteProcess(start);
    root_.Write(Cat("proc/", getpid(), "/stat"), Stat(getpid(), 4000, start));
  }
  void Home(const std::string& boot, const std::string& pid_namespace) {
    root_.Write("proc/sys/kernel/random/boot_id", boot + "\n");
    std::filesystem::create_directories(root_.At("proc/self/ns"));
    std::filesystem::remove(root_.At("proc/self/ns/pid"));
    std::filesystem::create_symlink(pid_namespace, root_.At("proc/self/ns/pid"));
  }
  void Gone() { root_.Remove(Cat("proc/", getpid(), "/stat")); }
  // Returns the rank's events "lost", "launcher gone", and "goodbye" in log order.
  std::vector<std::string> Ends() {
    std::vector<std::string> ends;
    for (const ReadBatch& batch : Of(DecodeAll(appender_.records()), "job-1", "rank-0")) {
      for (const JobEvent& event : batch.events) {
        if (event.kind == JobEvent::Kind::kRankLost) {
          EXPECT_EQ(event.rank_lost.boot_id, "boot-0");
          EXPECT_FALSE(event.rank_lost.signal.has_value());
          EXPECT_FALSE(event.rank_lost.exit_code.has_value());
          EXPECT_FALSE(event.rank_lost.oom_killed);
          ends.push_back("lost");
        }
        if (event.kind == JobEvent::Kind::kLauncherGone) ends.push_back("launcher gone");
      }
      if (batch.goodbye) ends.push_back("goodbye");
    }
    return ends;
  }
};

TEST_F(UnseenTest, RankThatDied_IsReportedAsLost) {
  for (const bool killed : {true, false}) {
    SCOPED_TRACE(killed);
    killed ? Kill() : StopIt();
    Gone();
    clock_.Advance(20 * kSecond);
    Start();
    Advance(kSecond);
    EXPECT_THAT(Ends(), ElementsAre("lost")) << "reported once";
  }
  StopIt();
}

// A job ends after a grace period, during which the collector may restart.
TEST_F(UnseenTest, GoodbyeBeforeRestart_StillEndsJob) {
  auto goodbye = GoodbyeOf("completed");
  goodbye.mutable_goodbye()->set_exiting(true);
  client_->Send(goodbye);
  Gone();
  while (Ends().empty()) Advance(100 * kNanosPerMilli);
  Kill();
  clock_.Advance(2 * kSecond);
  Start();
  const auto reasons = [&] {
    std::vector<std::string> ended;
    for (const ReadBatch& batch : Of(DecodeAll(appender_.records()), "job-1", "node")) {
      for (const JobEvent& event : batch.events) {
        if (event.kind == JobEvent::Kind::kEnded) ended.push_back(event.reason);
      }
    }
    return ended;
  };
  while (reasons().empty()) Advance(kSecond);
  EXPECT_THAT(reasons(), ElementsAre("completed"));
  EXPECT_THAT(Ends(), ElementsAre("goodbye")) << "not lost";
  StopIt();
}

TEST_F(UnseenTest, ReusedPid_IsReportedAsLost) {
  Kill();
  Process(778);
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre("lost"));
  StopIt();
}

TEST_F(UnseenTest, MachineReboot_IsReportedAsLost) {
  Kill();
  Home("boot-b", "pid:[1]");
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre("lost"));
  StopIt();
}

TEST_F(UnseenTest, LauncherEndIsReported) {
  Kill();
  Gone();
  root_.Remove("proc/4000/stat");
  Start();
  while (Ends().size() < 2) Advance(100 * kMs);
  EXPECT_THAT(Ends(), ElementsAre("lost", "launcher gone"));
  StopIt();
}

// PIDs in another namespace prove nothing, so the end of the rank is not reported.
TEST_F(UnseenTest, OtherPidNamespace_ReportsNoEnd) {
  Kill();
  Gone();
  Home("boot-a", "pid:[2]");
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre());
  StopIt();
}

TEST_F(UnseenTest, RunningRank_IsResumedAndTrackedUntilItEnds) {
  Kill();
  clock_.Advance(kSecond);
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre());
  EXPECT_EQ(Hello(true).written_sequence(), 6u);
  Train(1, true);
  client_->AwaitWritten(8);
  Kill();
  Start();
  Gone();  // its client has not reconnected to the new collector yet
  while (Ends().empty()) Advance(100 * kMs);
  EXPECT_THAT(Ends(), ElementsAre("lost"));
  StopIt();
  EXPECT_THAT(Samples("train_step{").size(), 4u);
}

TEST_F(UnseenTest, RankWithGoodbye_IsNotReportedAsLost) {
  client_->Send(GoodbyeOf("completed"));
  while (Ends().empty()) Advance(40 * kMs);
  Kill();
  Gone();
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre("goodbye"));
  StopIt();
}

TEST(ClientCursors, RestoresPreviousFormat) {
  // Cursors in format 1: job "j", source "a", boot "b"; received 5, written 4, batch 3, promise 2;
  // checksum.
  std::string saved(
      "\x01\x01\x01j\x01"
      "a\x01"
      "b\x05\x04\x03\x04",
      12);
  const uint32_t crc = Crc32c(saved);
  for (int i = 0; i < 4; ++i) saved.push_back(static_cast<char>(crc >> (8 * i)));
  ClientCursors cursors;
  ASSERT_TRUE(cursors.Restore(saved).ok());
  const auto cursor = cursors.Find("j", "a", "b");
  ASSERT_TRUE(cursor.has_value());
  EXPECT_EQ(cursor->received, 5u);
  EXPECT_EQ(cursor->promise_ns, 2);
  EXPECT_TRUE(cursors.Ranks().empty());
}

}  // namespace
}  // namespace pitwall::collector
