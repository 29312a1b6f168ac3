#include "services/io/log_fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const TopicPartition kAt{"topic", 0};

class LogFingerprintTest : public testing::Test {
 protected:
  LogFingerprintTest() { EXPECT_TRUE(log_.EnsureTopic("topic", {.partitions = 1}).ok()); }
  void Append(int count) {
    auto appender = log_.OpenAppender();
    ASSERT_TRUE(appender.ok());
    for (int i = 0; i < count; ++i) {
      clock_.Advance(kNanosPerSecond);
      ASSERT_TRUE((*appender)->Append({{.topic = "topic", .partition = 0, .value = "v"}}).ok());
    }
  }
  LogFingerprint Newest() const {
    const Record record = log_.Records("topic").back();
    return {record.offset, record.append_time};
  }
  std::string Check(int64_t position, const LogFingerprint& mark) {
    const Status status = CheckLogMark(&log_, kAt, position, mark);
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    return std::string(ToStd(status.message()));
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
};

TEST_F(LogFingerprintTest, MarkSurvivesEncoding) {
  const LogFingerprint mark{7, AppendTime::FromNs(42)};
  EXPECT_EQ(EncodeLogMark(mark), "mark=7@42");
  const LogFingerprint parsed = ParseLogMark("floor=3;mark=7@42");
  EXPECT_EQ(parsed.offset, 7);
  EXPECT_EQ(parsed.append_time, AppendTime::FromNs(42));
  for (const char* bad : {"", "mark=", "mark=7", "mark=x@1", "mark=7@42@1"})
    EXPECT_EQ(ParseLogMark(bad).offset, -1) << bad;
}

TEST_F(LogFingerprintTest, SameLogIsAccepted) {
  Append(3);
  EXPECT_EQ(Check(3, Newest()), "");
  log_.Drop("topic", 0, 3);  // retention has removed the record at the mark
  EXPECT_EQ(Check(3, {2, AppendTime::FromNs(1)}), "");
}

TEST_F(LogFingerprintTest, ShorterLogIsTruncated) {
  Append(3);
  const LogFingerprint mark = Newest();
  log_.Cut("topic", 0, 1);
  EXPECT_EQ(Check(3, mark),
            "log_truncated: topic/0: the log is at offset 1, before position 3 (topic deleted, "
            "recreated, or truncated)");
}

TEST_F(LogFingerprintTest, DifferentRecordAtMark_LogWasReplaced) {
  Append(3);
  const LogFingerprint mark = Newest();
  log_.Recreate("topic");
  Append(5);
  EXPECT_THAT(Check(3, mark), StartsWith("log_truncated: topic/0: the record at offset 2 differs"));
}

TEST_F(LogFingerprintTest, ErrorNamesConsequence) {
  EXPECT_THAT(std::string(ToStd(LogWasReplaced(kAt, "continuing at offset 4").message())),
              HasSubstr("or truncated; continuing at offset 4"));
}

TEST_F(LogFingerprintTest, FirstAfterMark) {
  Append(3);
  const LogFingerprint mark = Newest();
  log_.Recreate("topic");
  Append(2);
  EXPECT_EQ(*FirstAfter(&log_, kAt, mark), 0);
  EXPECT_EQ(*FirstAfter(&log_, kAt, Newest()), 2) << "no record is newer";
  EXPECT_EQ(*FirstAfter(&log_, kAt, {}), 0) << "the mark has no time";
}

}  // namespace
}  // namespace pitwall
