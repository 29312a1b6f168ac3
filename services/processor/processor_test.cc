#include "services/processor/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::processor {
namespace {

TEST(PartitionShare, SharesAreDisjointAndCoverAllPartitions) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(PartitionsOf({}, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(PartitionsOf({0, 3}, 5), ElementsAre(0, 3));
  EXPECT_THAT(PartitionsOf({1, 3}, 5), ElementsAre(1, 4));
  EXPECT_THAT(PartitionsOf({2, 3}, 5), ElementsAre(2));
  EXPECT_THAT(PartitionsOf({2, 3}, 2), IsEmpty());
}

TEST(ProcessorTest, ShareWithoutPartitions_IsRejected) {
  fakes::FakeClock clock;
  fakes::MemoryLog log(&clock);
  ProcessorOptions options;
  options.telemetry_partitions = 2;
  options.share = {.index = 2, .count = 3};
  Processor processor(&clock, &log, options);
  const Status status = processor.Start(nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(::testing::HasSubstr("has 2 partitions"),
                               ::testing::HasSubstr("start fewer")));
}

}  // namespace
}  // namespace pitwall::processor
