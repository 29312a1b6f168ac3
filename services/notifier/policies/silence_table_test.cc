// Tests for silences that are stored in their topic.
#include "services/notifier/policies/silence_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "services/base/text/strings.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::notifier {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kHour = 3600 * kNanosPerSecond;

class SilenceTableTest : public ::testing::Test {
 protected:
  SilenceTableTest() { Start(); }
  // Starts or restarts the table.
  void Start() {
    table_ = std::make_unique<SilenceTable>(&clock_, &log_, "pitwall.silences");
    EXPECT_TRUE(table_->Open().ok());
  }
  Silence For(int64_t ns) {
    Silence s;
    s.matchers = *ParseIssueMatchers({"severity=warning"});
    s.ends_ns = clock_.WallNs() + ns;
    s.author = "ada";
    s.comment = "maintenance";
    return s;
  }
  void Write(std::string key, std::string value) {
    EXPECT_TRUE((*log_.OpenAppender())
                    ->Append({{.topic = "pitwall.silences",
                               .partition = 0,
                               .key = std::move(key),
                               .value = std::move(value)}})
                    .ok());
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  std::unique_ptr<SilenceTable> table_;
};

TEST_F(SilenceTableTest, SilenceSurvivesRestartUntilExpired) {
  const auto made = table_->Add(For(kHour));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->starts_ns, clock_.WallNs());
  Start();
  ASSERT_THAT(table_->List(false), SizeIs(1));
  EXPECT_EQ(table_->List(false)[0].id, made->id);
  clock_.Advance(kNanosPerSecond);
  EXPECT_TRUE(table_->Expire(made->id).ok());
  EXPECT_EQ(table_->Expire(made->id).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(table_->Expire("another").status().code(), absl::StatusCode::kNotFound);
  Start();
  EXPECT_THAT(table_->List(false), IsEmpty());
  EXPECT_THAT(table_->List(true), SizeIs(1));
}

TEST_F(SilenceTableTest, RejectsEndedAndTooManySilences) {
  EXPECT_THAT(std::string(table_->Add(For(-1)).status().message()), HasSubstr("ends_at"));
  Silence nobody = For(kHour);
  nobody.author.clear();
  EXPECT_THAT(std::string(table_->Add(nobody).status().message()), HasSubstr("author"));
  for (size_t i = 0; i < SilenceSet::kMaxSilences; ++i) ASSERT_TRUE(table_->Add(For(kHour)).ok());
  EXPECT_EQ(table_->Add(For(kHour)).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(SilenceTableTest, SkipsMalformedRecord) {
  Write("x", "{");
  Write("y", "{\"id\":\"y\",\"matchers\":[\"severity=~\\\"(\\\"\"]}");
  ASSERT_TRUE(table_->ReadNew().ok());
  ASSERT_TRUE(table_->Add(For(kHour)).ok());
  Start();
  EXPECT_THAT(table_->List(true), SizeIs(1));
}

TEST_F(SilenceTableTest, FollowsRecreatedTopic) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(table_->Add(For(kHour)).ok());
  ASSERT_TRUE(table_->ReadNew().ok());
  log_.Recreate("pitwall.silences");
  for (int i = 0; i < 3; ++i) (void)table_->ReadNew();
  Silence other = For(kHour);
  other.id = "other";
  Write("other", EncodeSilence(other));
  for (int i = 0; i < 3; ++i) (void)table_->ReadNew();
  EXPECT_EQ(table_->Expire("other").status(), OkStatus());
}

// The topic is compacted, so without a tombstone a silence would remain in the topic forever.
TEST_F(SilenceTableTest, RemovesOldSilencesFromTopic) {
  const auto old = table_->Add(For(kHour));
  ASSERT_TRUE(old.ok());
  clock_.Advance(SilenceSet::kKeepNs + 2 * kHour);
  ASSERT_TRUE(table_->Add(For(kHour)).ok());
  const std::vector<Record> records = log_.Records("pitwall.silences");
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_TRUE(records[1].tombstone);
  EXPECT_EQ(records[1].key, old->id);
  EXPECT_THAT(table_->List(true), SizeIs(1));
  Start();
  EXPECT_THAT(table_->List(true), SizeIs(1));
}

}  // namespace
}  // namespace pitwall::notifier
