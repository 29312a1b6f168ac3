#include "services/codec/steps/step_modes.h"

#include <gtest/gtest.h>

namespace pitwall::steps {
namespace {

TEST(StepModes, NumbersModesInOrderOfAppearance) {
  StepModes modes;
  EXPECT_EQ(modes.Find("eval"), -1);
  EXPECT_EQ(modes.FindOrAdd("eval"), 0);
  EXPECT_EQ(modes.FindOrAdd(""), 1);
  EXPECT_EQ(modes.FindOrAdd("train"), 1);
  EXPECT_EQ(modes.Find("eval"), 0);
  EXPECT_EQ(modes.At(1).name, "train");
}

TEST(StepModes, RejectsInvalidNamesAndTooManyModes) {
  StepModes modes;
  EXPECT_EQ(modes.FindOrAdd("a\nb"), -1);
  for (size_t i = 0; i < StepModes::kMaxModes; ++i)
    EXPECT_EQ(modes.FindOrAdd(std::to_string(i)), static_cast<int>(i));
  EXPECT_EQ(modes.FindOrAdd("another"), -1);
  EXPECT_EQ(modes.FindOrAdd("5"), 5);
}

TEST(StepModes, SortsUsedModes) {
  StepModes modes;
  const int train = modes.FindOrAdd("train");
  const int eval = modes.FindOrAdd("eval");
  for (const int mode : {train, eval, train}) modes.Use(mode);
  EXPECT_EQ(modes.used(), (std::vector<std::string>{"eval", "train"}));
}

TEST(StepModes, StopAllEndsRunningSteps) {
  StepModes modes;
  modes.At(modes.FindOrAdd("train")).open_step = 4;
  modes.StopAll();
  EXPECT_EQ(modes.At(0).open_step, kNoStep);
}

}  // namespace
}  // namespace pitwall::steps
