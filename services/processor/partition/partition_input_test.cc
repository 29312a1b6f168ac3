#include "services/processor/partition/partition_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/io/topics.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::processor {
namespace {

using ::testing::HasSubstr;

class PartitionInputTest : public ::testing::Test {
 protected:
  PartitionInputTest() { EXPECT_TRUE(log_.EnsureTopic(kTelemetryTopic, {}).ok()); }

  void Append(int count) {
    const auto appender = log_.OpenAppender();
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE((*appender)
                      ->Append({{.topic = std::string(kTelemetryTopic),
                                 .partition = 0,
                                 .key = "job",
                                 .value = "12345"}})
                      .ok());
    }
  }
  Status Poll() { return input_.Poll(100, 1 << 20, Duration::Zero(), &bytes_); }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  PartitionInput input_{{std::string(kTelemetryTopic), 0}};
  size_t bytes_ = 0;
};

TEST_F(PartitionInputTest, PopAdvancesOffsetAndAppliedRecord) {
  Append(3);
  ASSERT_TRUE(input_.Open(&log_, 0, std::nullopt).ok());
  ASSERT_TRUE(Poll().ok());
  EXPECT_EQ(bytes_, 15U);
  EXPECT_EQ(input_.next_offset(), 0);
  EXPECT_FALSE(input_.applied().has_value());
  for (int64_t offset = 0; !input_.drained(); ++offset) {
    const auto record = input_.Front();
    ASSERT_TRUE(record.ok());
    EXPECT_EQ((*record)->offset, offset);
    input_.Pop();
    EXPECT_EQ(input_.next_offset(), offset + 1);
    EXPECT_EQ(input_.applied()->offset, offset);
  }
  EXPECT_EQ(input_.next_offset(), 3);
}

TEST_F(PartitionInputTest, ReplayKeepsNewerAppliedRecord) {
  Append(2);
  ASSERT_TRUE(input_.Open(&log_, 0, AppliedRecord{7, AppendTime::FromNs(70)}).ok());
  ASSERT_TRUE(Poll().ok());
  input_.Pop();
  EXPECT_EQ(input_.next_offset(), 1);
  EXPECT_EQ(input_.applied()->offset, 7);
}

TEST_F(PartitionInputTest, ClearDropsRecordsThatWereNotApplied) {
  Append(2);
  ASSERT_TRUE(input_.Open(&log_, 0, std::nullopt).ok());
  ASSERT_TRUE(Poll().ok());
  input_.Clear();
  EXPECT_TRUE(input_.drained());
  EXPECT_EQ(input_.next_offset(), 0);
}

TEST_F(PartitionInputTest, LostRecords_ReturnDataLossOnce) {
  Append(5);
  ASSERT_TRUE(input_.Open(&log_, 0, std::nullopt).ok());
  log_.Drop(kTelemetryTopic, 0, 3);
  EXPECT_TRUE(absl::IsDataLoss(Poll()));
  EXPECT_EQ(input_.next_offset(), 0);
  EXPECT_EQ(input_.reader_offset(), 3);
  ASSERT_TRUE(Poll().ok());
  EXPECT_EQ((*input_.Front())->offset, 3);
}

TEST_F(PartitionInputTest, LogThatEndsBelowOffset_IsReportedAsTruncated) {
  Append(2);
  ASSERT_TRUE(input_.Open(&log_, 1, std::nullopt).ok());
  EXPECT_TRUE(input_.CheckEnd(1).ok());
  const Status truncated = input_.CheckEnd(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(truncated));
  EXPECT_THAT(std::string(truncated.message()), HasSubstr("is at offset 0, before position 1"));
}

}  // namespace
}  // namespace pitwall::processor
