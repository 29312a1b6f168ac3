#include "services/history/ingest/partition/ingest_control.h"
#include "services/base/time.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::history {
namespace {

TEST(IngestControl, WorkBeforeBeginAndAfterEnd_IsUnavailable) {
  fakes::FakeClock clock;
  IngestControl control(&clock, 0);
  const auto work = [] { return OkStatus(); };
  EXPECT_TRUE(absl::IsUnavailable(control.Do(work)));
  control.Begin();
  control.End();
  EXPECT_TRUE(absl::IsUnavailable(control.Do(work)));
}

TEST(IngestControl, WorkRunsOnPartitionThread) {
  fakes::FakeClock clock;
  IngestControl control(&clock, 0);
  control.Begin();
  std::thread thread([&] {
    while (!control.stopping()) {
      control.Wait(-1);
      control.RunWork();
    }
    control.End();
  });
  std::thread::id ran_on;
  EXPECT_TRUE(absl::IsNotFound(control.Do([&] {
    ran_on = std::this_thread::get_id();
    return NotFound("of the work");
  })));
  EXPECT_EQ(ran_on, thread.get_id());
  control.RequestStop();
  thread.join();
}

TEST(IngestControl, StopRequest_EndsPollImmediately) {
  fakes::FakeClock clock;
  fakes::MemoryLog log(&clock);
  ASSERT_TRUE(log.EnsureTopic("topic", {}).ok());
  TopicFollower follower(&clock, &log, {"topic", 0});
  IngestControl control(&clock, 0);
  control.RequestStop();
  FollowedRecords read;
  EXPECT_TRUE(control.Poll(&follower, Duration::Nanos(-1), &read).ok());
}

TEST(IngestControl, HealthPrefersErrorOfLastStep) {
  fakes::FakeClock clock;
  IngestControl control(&clock, 0);
  EXPECT_TRUE(control.Health().ok());
  control.SetDamage(DataLoss("segment"));
  EXPECT_TRUE(absl::IsDataLoss(control.Health()));
  control.SetHealth(Unavailable("log"));
  EXPECT_TRUE(absl::IsUnavailable(control.Health()));
  control.SetHealth(OkStatus());
  EXPECT_TRUE(absl::IsDataLoss(control.Health()));
}

}  // namespace
}  // namespace pitwall::history
