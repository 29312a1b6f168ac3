// time-model.md, scenarios 13 and 15: a collector takes up ranks that the one before it knew.
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

// A rank does a step each 200 ms: 80 ms forward, the rest backward. Its client reports the step
// that ended and what runs. DecodeAll sees to it that nothing comes twice, too late or with a gap.
class RestartTest : public CollectorTest {
 protected:
  RestartTest() { options_.socket_path = root_.At("socket"); }

  // Connects again, under the same boot.
  client::v1::Welcome Hello(bool resends = false) {
    client_.emplace(options_.socket_path);
    auto hello = HelloOf(0, start_);
    hello.mutable_hello()->set_keeps_until_written(resends);
    client_->Send(hello);
    return client_->ReadWelcome();
  }
  // Sends again what was told, from this sequence on.
  void TellAgain(uint64_t from) {
    for (; from <= sent_.size(); ++from) {
      const double before = Counter("pitwall_collector_client_messages_total");
      client_->Send(sent_[from - 1]);
      while (Counter("pitwall_collector_client_messages_total") == before) {
      }
    }
  }
  // What another thread counts.
  void AwaitCounter(std::string_view name, double value) {
    while (Counter(name) < value) {
    }
    EXPECT_EQ(Counter(name), value) << name;
  }
  // The collector is killed as it is now: another one finds its files. (This one goes on into
  // nothing.)
  void Kill() {
    Settle();
    options_.spool_dir = root_.At(Cat("spool-", ++kills_));
    std::filesystem::copy(root_.At(kills_ == 1 ? "spool" : Cat("spool-", kills_ - 1)),
                          options_.spool_dir, std::filesystem::copy_options::recursive);
    StopIt();
  }
  // The time in which the process does `steps` steps. `told`: its client has a collector.
  void Train(int steps, bool told) {
    for (int i = 0; i < steps; ++i) {
      const int64_t from = clock_.WallNs();
      AddSpan(&update_, client::v1::SPAN_KIND_PHASE, "forward", from, from + 80 * kMs, step_);
      Pass(80 * kMs);
      if (told) Tell("backward", from + 80 * kMs);
      AddSpan(&update_, client::v1::SPAN_KIND_PHASE, "backward", from + 80 * kMs, from + 200 * kMs,
              step_);
      AddSpan(&update_, client::v1::SPAN_KIND_STEP, "", from, from + 200 * kMs, step_);
      Pass(120 * kMs);
      ++step_;
      if (told) Tell("forward", from + 200 * kMs);
    }
  }
  // What the client has kept, and what runs now. It promises up to now, like the real one.
  void Tell(std::string_view phase, int64_t since_ns) {
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
  // With a collector or without.
  void Pass(int64_t ns) { collector_ == nullptr ? clock_.Advance(ns) : Advance(ns, 40 * kMs); }
  void StopIt() {
    collector_->Stop();
    collector_.reset();
    options_.new_boot_id = [n = ++stops_] { return Cat("another", n); };
  }
  // The rank's samples whose series begin so, as `ms since the start[/step] value`.
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

TEST_F(RestartTest, NothingIsMissingNothingLateNothingTwice) {
  Start();
  Hello();
  Train(6, true);  // until 1200 ms
  StopIt();
  Train(4, false);  // the client keeps them
  Start();
  Hello();
  Train(1, true);  // until 2200 ms
  StopIt();
  EXPECT_THAT(Samples("train_step{"),
              ElementsAre("200/0 0", "400/1 1", "600/2 2", "800/3 3", "1000/4 4", "1200/5 5",
                          "1400/6 6", "1600/7 7", "1800/8 8", "2000/9 9", "2200/10 10"));
  // What it did meanwhile, from the first end that no promise can have passed.
  EXPECT_THAT(Samples("train_phase_state{phase=backward"),
              IsSupersetOf({"1080 1", "1200 0", "1280 1", "1400 0", "1680 1", "1800 0", "2080 1"}));
}

TEST_F(RestartTest, ThePhaseOfAHangIsToldAnewAndNeverInThePast) {
  Start();
  Hello();
  Train(6, true);
  const int64_t since = clock_.WallNs();
  Tell("collective", since);
  Pass(kSecond);
  Tell("collective", since);
  StopIt();
  Pass(2 * kSecond);
  Start();
  Hello();
  Pass(100 * kMs);
  Tell("collective", since);
  Pass(100 * kMs);
  Tell("collective", since);
  StopIt();
  const auto states = Samples("train_phase_state{phase=collective");
  EXPECT_THAT(states, Contains("1200 1"));
  EXPECT_THAT(states, Contains("4300 1"));
  EXPECT_THAT(states, Not(Contains("4300 0")));
}

// The client sends again from what the collector says; what waited for the end of a step is there.
TEST_F(RestartTest, AfterAKillWhatWasNotWrittenComesAgainAndNothingTwice) {
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
  Tell("backward", from + 80 * kMs);  // update 7: its phase waits for the step's end
  Pass(20 * kMs);
  Tell("backward", from + 80 * kMs);  // update 8: empty
  for (int kill = 0; kill < 2; ++kill) {
    Kill();
    clock_.Advance(kSecond);
    Start();
    const auto welcome = Hello(true);
    EXPECT_EQ(welcome.written_sequence(), 6u);
    EXPECT_EQ(welcome.received_sequence(), 6u);
    TellAgain(7);
    AwaitCounter("pitwall_collector_client_updates_repeated_total", 2);
  }
  const int64_t end = clock_.WallNs();
  AddSpan(&update_, client::v1::SPAN_KIND_PHASE, "backward", from + 80 * kMs, end, 3);
  AddSpan(&update_, client::v1::SPAN_KIND_STEP, "", from, end, 3);
  ++step_;
  Tell("forward", end);  // update 9
  client_->AwaitWritten(9);
  // The same connection breaks: the collector holds all.
  const auto again = Hello(true);
  EXPECT_EQ(again.written_sequence(), 9u);
  EXPECT_EQ(again.received_sequence(), 9u);
  TellAgain(8);  // and takes none of it twice
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

// What the log has not taken yet is in the spool: the client need not send it again.
TEST_F(RestartTest, AKillWhileTheLogIsAway) {
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

// A client of the version before does not send again: what is missing is counted.
TEST_F(RestartTest, AnOldClientsHoleIsCounted) {
  options_.spool_dir = root_.At("spool");
  Start();
  EXPECT_EQ(Hello().received_sequence(), 0u);
  Train(3, true);
  TellAgain(sent_.size());  // the last one is handled once another is counted
  Kill();
  ++sequence_;  // sent, and lost with the collector
  Start();
  Hello();
  Train(1, true);
  AwaitCounter("pitwall_collector_client_updates_missed_total", 1);
  StopIt();
}

// Without a spool nothing outlives a kill, but what the log has taken is confirmed.
TEST_F(RestartTest, WithoutASpoolWrittenMeansInTheLog) {
  Start();
  Hello(true);
  Train(2, true);
  client_->AwaitWritten(4);
  EXPECT_THAT(Samples("train_step{"), ElementsAre("200/0 0", "400/1 1"));
  StopIt();
}

// Issue 10, A6: what happens to ranks while no collector runs.
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
  // "lost", "launcher gone", "goodbye" of the rank, in the order of the log.
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

TEST_F(UnseenTest, ARankThatDiedMeanwhileIsLost) {
  for (const bool killed : {true, false}) {
    SCOPED_TRACE(killed);
    killed ? Kill() : StopIt();
    Gone();
    clock_.Advance(20 * kSecond);
    Start();
    Advance(kSecond);
    EXPECT_THAT(Ends(), ElementsAre("lost")) << "told once";
  }
  StopIt();
}

// The end of a job follows a grace after the last goodbye: the collector may restart within it.
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

TEST_F(UnseenTest, ItsNumberBelongsToAnother) {
  Kill();
  Process(778);
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre("lost"));
  StopIt();
}

TEST_F(UnseenTest, TheMachineStartedAgain) {
  Kill();
  Home("boot-b", "pid:[1]");
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre("lost"));
  StopIt();
}

TEST_F(UnseenTest, TheLauncherIsGoneToo) {
  Kill();
  Gone();
  root_.Remove("proc/4000/stat");
  Start();
  while (Ends().size() < 2) Advance(100 * kMs);
  EXPECT_THAT(Ends(), ElementsAre("lost", "launcher gone"));
  StopIt();
}

// Numbers of another namespace say nothing: its end is silence, as before.
TEST_F(UnseenTest, AnotherNamespaceSaysNothing) {
  Kill();
  Gone();
  Home("boot-a", "pid:[2]");
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre());
  StopIt();
}

TEST_F(UnseenTest, ARankThatRunsIsTakenUpAndItsLaterEndSeen) {
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
  Gone();  // before its client has found the new collector
  while (Ends().empty()) Advance(100 * kMs);
  EXPECT_THAT(Ends(), ElementsAre("lost"));
  StopIt();
  EXPECT_THAT(Samples("train_step{").size(), 4u);
}

TEST_F(UnseenTest, AGoodbyeIsNoLoss) {
  client_->Send(GoodbyeOf("completed"));
  while (Ends().empty()) Advance(40 * kMs);
  Kill();
  Gone();
  Start();
  Advance(kSecond);
  EXPECT_THAT(Ends(), ElementsAre("goodbye"));
  StopIt();
}

TEST(ClientCursors, ThoseOfTheVersionBeforeAreRead) {
  // Format 1: job "j", source "a", boot "b"; received 5, written 4, batch 3, promise 2; checksum.
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
