#include "services/codec/steps/phase_states.h"

#include <gtest/gtest.h>

#include "services/codec/steps/series_names.h"

namespace pitwall::steps {
namespace {

class PhaseStatesTest : public ::testing::Test {
 protected:
  void AddPhases() {
    for (const char* phase : {"forward", "backward"})
      states_.AddPhase(RankSeries("train_phase_state", "0").With("phase", phase));
  }
  // Returns the times of the frames.
  std::vector<int64_t> Write(int64_t promise_ns, int64_t floor_ns, bool repeat_schema = false) {
    batch_ = Batch();
    dropped_ = states_.Write(promise_ns, floor_ns, repeat_schema, &batch_);
    std::vector<int64_t> times;
    for (const Frame& frame : batch_.frames)
      times.insert(times.end(), frame.times.begin(), frame.times.end());
    return times;
  }

  PhaseStates states_{{.stream = 2, .max_cells = 4, .cells_per_frame = 100, .repeat_ns = 50}};
  Batch batch_;
  size_t dropped_ = 0;
};

TEST_F(PhaseStatesTest, WritesNothingWithoutPhases) {
  EXPECT_TRUE(Write(100, 0, true).empty());
  EXPECT_TRUE(batch_.schemas.empty());
}

TEST_F(PhaseStatesTest, AnnouncesSchemaWithFirstFrameAndOnRequest) {
  AddPhases();
  states_.SetCurrent(0, 10);
  EXPECT_EQ(Write(20, 0), std::vector<int64_t>{10});
  EXPECT_EQ(batch_.schemas.size(), 1U);
  EXPECT_TRUE(Write(30, 20).empty());
  EXPECT_TRUE(batch_.schemas.empty());
  Write(40, 30, true);
  EXPECT_EQ(batch_.schemas.size(), 1U);
}

TEST_F(PhaseStatesTest, RepeatsStateAfterInterval) {
  AddPhases();
  states_.SetCurrent(0, 10);
  Write(20, 0);
  EXPECT_TRUE(Write(59, 20).empty());
  EXPECT_EQ(Write(60, 59), std::vector<int64_t>{60});
}

TEST_F(PhaseStatesTest, DropsOldestChanges) {
  AddPhases();
  states_.AddSpan(0, 10, 20);
  states_.AddSpan(1, 20, 30);
  EXPECT_EQ(Write(40, 0), (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(dropped_, 1U);
}

}  // namespace
}  // namespace pitwall::steps
