#include "services/base/system/memory_budget.h"

#include <gtest/gtest.h>

namespace pitwall {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(MemoryBudget, LargestHolderPausesFirst_AllPauseAtLimit) {
  MemoryBudget budget(100 * kMiB);
  const auto small = budget.Open("partition 0");
  const auto large = budget.Open("partition 1");
  small->Set(20 * kMiB, {"job \"a\"", 15 * kMiB, ""});
  large->Set(60 * kMiB, {"job \"b\"", 50 * kMiB, ""});
  EXPECT_FALSE(small->MustPause());
  EXPECT_FALSE(large->MustPause());
  large->Set(72 * kMiB, {"job \"b\"", 70 * kMiB, "40 MiB samples above the watermark"});
  EXPECT_FALSE(small->MustPause());
  EXPECT_TRUE(large->MustPause());
  EXPECT_EQ(large->WhyPaused(),
            "memory: 92 MiB of the budget of 100 MiB is in use, so reading is paused until usage "
            "drops; partition 1 holds 72 MiB, mostly job \"b\" (70 MiB, 40 MiB samples above "
            "the watermark); raise memory.budget or give that job fewer series or rules");
  small->Set(28 * kMiB, {});
  EXPECT_TRUE(small->MustPause());
  EXPECT_TRUE(large->MustPause());
  EXPECT_EQ(budget.pauses(), 2U);
  // Hysteresis: a holder whose memory fluctuates around one threshold must not pause at each read.
  large->Set(68 * kMiB, {});
  small->Set(20 * kMiB, {});
  EXPECT_FALSE(small->MustPause());
  EXPECT_TRUE(large->MustPause());
  large->Set(64 * kMiB, {});
  EXPECT_FALSE(large->MustPause());
  EXPECT_EQ(budget.pauses(), 2U);
}

TEST(MemoryBudget, ClosedAccountReleasesItsMemory) {
  MemoryBudget budget(100 * kMiB);
  const auto stays = budget.Open("partition 0");
  auto goes = budget.Open("partition 1");
  stays->Set(10 * kMiB, {});
  goes->Set(95 * kMiB, {});
  EXPECT_TRUE(stays->MustPause());
  goes.reset();
  EXPECT_EQ(budget.total(), 10 * kMiB);
  EXPECT_FALSE(stays->MustPause());
  EXPECT_EQ(budget.Entries().size(), 1U);
}

}  // namespace
}  // namespace pitwall
