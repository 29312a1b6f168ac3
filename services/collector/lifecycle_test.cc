#include "services/collector/lifecycle.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

class LifecycleTest : public ::testing::Test {
 protected:
  Status Start(Status result = OkStatus()) {
    return lifecycle_.Start([this, &result] {
      ++starts_;
      return result;
    });
  }
  void Stop() {
    lifecycle_.Stop([this] { ++stops_; });
  }

  fakes::FakeClock clock_;
  Lifecycle lifecycle_{clock_};
  int starts_ = 0;
  int stops_ = 0;
};

TEST_F(LifecycleTest, SecondStart_IsRefused) {
  EXPECT_TRUE(Start().ok());
  EXPECT_EQ(Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(starts_, 1);
}

TEST_F(LifecycleTest, FailedStart_MayBeRepeated) {
  EXPECT_EQ(Start(Unavailable("disk")).code(), absl::StatusCode::kUnavailable);
  Stop();
  EXPECT_EQ(stops_, 0);
  EXPECT_TRUE(Start().ok());
}

TEST_F(LifecycleTest, Stop_RunsOnceAndEndsAwait) {
  EXPECT_TRUE(Start().ok());
  Stop();
  Stop();
  EXPECT_EQ(stops_, 1);
  lifecycle_.Await();  // returns at once
}

}  // namespace
}  // namespace pitwall::collector
