// Tests the reported ends of ranks, by exit status and goodbye, in a complete collector.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "services/collector/clients/testing/fake_client.h"
#include "services/collector/ranks/testing/decode.h"
#include "services/collector/testing/collector_fixture.h"

namespace pitwall::collector {
namespace {

// In three cases, the goodbye comes before the exit status: SystemExit(3), a crash during teardown,
// and os._exit.
TEST_F(CollectorTest, ExitStatusAfterGoodbye_DecidesHowJobEnded) {
  options_.socket_path = root_.At("socket");
  options_.grace.completed_ns = options_.grace.failed_ns = kNanosPerSecond;
  const auto stat = [&](char state, int status) {
    std::string text = Cat(getpid(), " (a b) ", std::string(1, state),
                           " 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 777");
    for (int field = 23; field < 52; ++field) CatTo(text, " 4096");
    root_.Write(Cat("proc/", getpid(), "/stat"), Cat(text, " ", status, "\n"));
  };
  stat('R', 0);
  Start();
  struct Case {
    std::string reason;
    std::optional<bool> loop_open;
    bool goodbye;
    int status;
    std::string ended;
  };
  const std::vector<Case> cases = {{"completed", false, true, 3 << 8, "failed code 3"},
                                   {"completed", false, true, 11, "failed signal 11"},
                                   {"completed", false, true, 0, "completed"},
                                   {"failed", false, true, 0, "completed"},
                                   {"", false, false, 0, "completed"},
                                   {"", true, false, 0, "lost code 0"},
                                   {"", false, false, 3 << 8, "lost code 3"}};
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    SCOPED_TRACE(i);
    const std::string job = Cat("job-", i);
    stat('R', 0);
    TestClient client(options_.socket_path);
    auto hello = HelloOf(0, clock_.WallNs(), job);
    hello.mutable_hello()->set_world_size(1);
    client.Send(hello);
    client.ReadWelcome();
    auto update = UpdateOf(1, clock_.WallNs());
    if (c.loop_open.has_value()) update.mutable_update()->set_loop_open(*c.loop_open);
    client.Send(update);
    if (c.goodbye) {
      auto goodbye = GoodbyeOf(c.reason);
      goodbye.mutable_goodbye()->set_exiting(true);
      client.Send(goodbye);
      client.AwaitClosed();
    }
    stat('Z', c.status);
    client.Close();
    std::string ended;
    while (ended.empty()) {
      Advance(100 * kNanosPerMilli);
      for (const ReadBatch& batch : Of(DecodeAll(appender_.records()), job)) {
        for (const JobEvent& event : batch.events) {
          if (event.kind == JobEvent::Kind::kEnded && ended.empty()) ended = event.reason;
          if (event.kind != JobEvent::Kind::kRankLost) continue;
          ended = ReportedFailure(event) ? "failed" : "lost";
          const RankLost& lost = event.rank_lost;
          if (lost.exit_code.has_value()) CatTo(ended, " code ", *lost.exit_code);
          if (lost.signal.has_value()) CatTo(ended, " signal ", *lost.signal);
        }
      }
    }
    EXPECT_EQ(ended, c.ended);
    while (!collector_->BoundJobs().empty()) Advance(100 * kNanosPerMilli);
  }
  Stop();
}

}  // namespace
}  // namespace pitwall::collector
