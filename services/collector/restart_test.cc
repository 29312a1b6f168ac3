// time-model.md, scenario 13: a collector takes up ranks that the one before it knew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/base/strings.h"
#include "services/collector/test_client.h"
#include "services/collector/test_collector.h"
#include "services/collector/test_decode.h"

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
    EXPECT_EQ(Counter("pitwall_collector_client_updates_repeated_total"), 2);
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
  Kill();
  ++sequence_;  // sent, and lost with the collector
  Start();
  Hello();
  Train(1, true);
  EXPECT_EQ(Counter("pitwall_collector_client_updates_missed_total"), 1);
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

}  // namespace
}  // namespace pitwall::collector
