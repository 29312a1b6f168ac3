// Tests for the wall time accepted for retention and for the file that stores it.
#include "services/adapters/embedded_log/format/retention_clock.h"

#include <gtest/gtest.h>

#include <string>

#include "services/adapters/embedded_log/testing/log_test_fixture.h"

namespace pitwall::log {
namespace {

class RetentionClockTest : public EmbeddedLogTest {
 protected:
  static constexpr int64_t kHourNs = 3600 * kNanosPerSecond;

  RetentionClock MustLoad(bool has_records) {
    auto loaded = RetentionClock::Load(Dir("."), has_records, &clock_);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *std::move(loaded);
  }
  std::string SavedText() const {
    const auto text = files::ReadWhole(Dir("retention-time"), 64);
    return text.ok() ? *text : "";
  }
};

TEST_F(RetentionClockTest, EmptyLogAcceptsWallTimeAndSavesIt) {
  RetentionClock retention = MustLoad(/*has_records=*/false);
  EXPECT_EQ(retention.AcceptedTime(), clock_.WallNs());
  EXPECT_EQ(SavedText(), Cat(clock_.WallNs(), "\n"));
}

TEST_F(RetentionClockTest, RecordsWithoutFile_AcceptedTimeIsUnset) {
  RetentionClock retention = MustLoad(/*has_records=*/true);
  EXPECT_EQ(retention.AcceptedTime(), std::nullopt);
  EXPECT_EQ(SavedText(), "");
}

TEST_F(RetentionClockTest, SuspendsAfterJumpAcrossRestart) {
  MustLoad(/*has_records=*/false);
  const int64_t saved_ns = clock_.WallNs();
  clock_.SetWall(saved_ns + 48 * kHourNs);
  RetentionClock retention = MustLoad(/*has_records=*/true);
  EXPECT_TRUE(retention.suspended());
  EXPECT_EQ(retention.AcceptedTime(), saved_ns);
}

TEST_F(RetentionClockTest, SavesEveryTenMinutes) {
  RetentionClock retention = MustLoad(/*has_records=*/false);
  const std::string first = SavedText();
  clock_.Advance(9 * 60 * kNanosPerSecond);
  retention.AcceptedTime();
  EXPECT_EQ(SavedText(), first);
  clock_.Advance(2 * 60 * kNanosPerSecond);
  retention.AcceptedTime();
  EXPECT_EQ(SavedText(), Cat(clock_.WallNs(), "\n"));
}

}  // namespace
}  // namespace pitwall::log
