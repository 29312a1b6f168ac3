#include "services/io/partition_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TopicPartition kAt{"topic", 0};

// Reader that reports ten records but never delivers one.
class SilentReader final : public PartitionReader {
 public:
  Status Poll(size_t, size_t, Duration, std::vector<Record>*) override {
    ++polls;
    return OkStatus();
  }
  int64_t position() const override { return 0; }
  Status Seek(int64_t) override { return OkStatus(); }
  StatusOr<int64_t> EndOffset() override { return 10; }
  StatusOr<int64_t> StartOffset() override { return 0; }
  void Interrupt() override {}

  int polls = 0;
};

class PartitionScanTest : public testing::Test {
 protected:
  PartitionScanTest() { EXPECT_TRUE(log_.EnsureTopic("topic", {.partitions = 1}).ok()); }
  void Append(std::string_view value) {
    auto appender = log_.OpenAppender();
    ASSERT_TRUE(appender.ok());
    ASSERT_TRUE((*appender)
                    ->Append({{.topic = "topic", .partition = 0, .value = std::string(value)}})
                    .ok());
  }
  static std::vector<std::string> Rest(PartitionScan& scan) {
    std::vector<std::string> values;
    while (true) {
      const StatusOr<Record*> record = scan.Next();
      EXPECT_TRUE(record.ok()) << record.status();
      if (!record.ok() || *record == nullptr) return values;
      values.push_back((*record)->value);
    }
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
};

TEST_F(PartitionScanTest, ReturnsRecordsUpToEndAtOpening) {
  for (const char* value : {"a", "b", "c"}) Append(value);
  auto scan = PartitionScan::Open(&log_, kAt, 1, {.max_records = 1});
  ASSERT_TRUE(scan.ok()) << scan.status();
  Append("later");
  EXPECT_EQ(scan->end(), 3);
  EXPECT_THAT(Rest(*scan), ElementsAre("b", "c"));
  EXPECT_EQ(scan->ReleaseReader()->position(), 3);
}

TEST_F(PartitionScanTest, EmptyPartitionHasNoRecord) {
  auto scan = PartitionScan::Open(&log_, kAt, kFromStart);
  ASSERT_TRUE(scan.ok());
  EXPECT_THAT(Rest(*scan), ElementsAre());
}

TEST_F(PartitionScanTest, ContinuesAfterLostRecords) {
  for (const char* value : {"a", "b"}) Append(value);
  log_.FailPolls(2, DataLoss("offsets 0 to 4 are lost"));
  int lost = 0;
  auto scan =
      PartitionScan::Open(&log_, kAt, kFromStart, {.on_loss = [&](const Status&) { ++lost; }});
  ASSERT_TRUE(scan.ok());
  EXPECT_THAT(Rest(*scan), ElementsAre("a", "b"));
  EXPECT_EQ(lost, 2);
}

TEST_F(PartitionScanTest, ReturnsErrorsOfLog) {
  Append("a");
  log_.FailPolls(1, Unavailable("no leader"));
  auto scan = PartitionScan::Open(&log_, kAt, kFromStart);
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(absl::IsUnavailable(scan->Next().status()));
  EXPECT_THAT(Rest(*scan), ElementsAre("a"));
}

TEST_F(PartitionScanTest, SilentPartition_FailsAfterLimit) {
  SilentReader reader;
  auto scan = PartitionScan::Continue(&reader, kAt, {.max_silent_polls = 3});
  ASSERT_TRUE(scan.ok());
  const Status status = scan->Next().status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(ToStd(status.message())),
              HasSubstr("topic/0 ends at 10 but has no readable records from 0"));
  EXPECT_EQ(reader.polls, 4);
}

}  // namespace
}  // namespace pitwall
