// Silences over the topic that keeps them.
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
  // What a restart does.
  void Start() {
    book_ = std::make_unique<SilenceTable>(&clock_, &log_, "pitwall.silences");
    EXPECT_TRUE(book_->Open().ok());
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
  std::unique_ptr<SilenceTable> book_;
};

TEST_F(SilenceTableTest, IsKeptOverARestartUntilItIsExpired) {
  const auto made = book_->Add(For(kHour));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->starts_ns, clock_.WallNs());
  Start();
  ASSERT_THAT(book_->List(false), SizeIs(1));
  EXPECT_EQ(book_->List(false)[0].id, made->id);
  clock_.Advance(kNanosPerSecond);
  EXPECT_TRUE(book_->Expire(made->id).ok());
  EXPECT_EQ(book_->Expire(made->id).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(book_->Expire("another").status().code(), absl::StatusCode::kNotFound);
  Start();
  EXPECT_THAT(book_->List(false), IsEmpty());
  EXPECT_THAT(book_->List(true), SizeIs(1));
}

TEST_F(SilenceTableTest, RefusesWhatIsOverAndWhatIsTooMuch) {
  EXPECT_THAT(std::string(book_->Add(For(-1)).status().message()), HasSubstr("ends_at"));
  Silence nobody = For(kHour);
  nobody.author.clear();
  EXPECT_THAT(std::string(book_->Add(nobody).status().message()), HasSubstr("author"));
  for (size_t i = 0; i < SilenceSet::kMaxSilences; ++i) ASSERT_TRUE(book_->Add(For(kHour)).ok());
  EXPECT_EQ(book_->Add(For(kHour)).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(SilenceTableTest, AMalformedRecordHidesNoOther) {
  Write("x", "{");
  Write("y", "{\"id\":\"y\",\"matchers\":[\"severity=~\\\"(\\\"\"]}");
  ASSERT_TRUE(book_->ReadNew().ok());
  ASSERT_TRUE(book_->Add(For(kHour)).ok());
  Start();
  EXPECT_THAT(book_->List(true), SizeIs(1));
}

TEST_F(SilenceTableTest, ATopicMadeAgainIsFollowed) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(book_->Add(For(kHour)).ok());
  ASSERT_TRUE(book_->ReadNew().ok());
  log_.Recreate("pitwall.silences");
  for (int i = 0; i < 3; ++i) (void)book_->ReadNew();
  Silence other = For(kHour);
  other.id = "other";
  Write("other", EncodeSilence(other));
  for (int i = 0; i < 3; ++i) (void)book_->ReadNew();
  EXPECT_EQ(book_->Expire("other").status(), OkStatus());
}

// The topic is compacted: without a tombstone each silence would stay in it.
TEST_F(SilenceTableTest, WhatEndedLongAgoLeavesTheTopic) {
  const auto old = book_->Add(For(kHour));
  ASSERT_TRUE(old.ok());
  clock_.Advance(SilenceSet::kKeepNs + 2 * kHour);
  ASSERT_TRUE(book_->Add(For(kHour)).ok());
  const std::vector<Record> records = log_.Records("pitwall.silences");
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_TRUE(records[1].tombstone);
  EXPECT_EQ(records[1].key, old->id);
  EXPECT_THAT(book_->List(true), SizeIs(1));
  Start();
  EXPECT_THAT(book_->List(true), SizeIs(1));
}

}  // namespace
}  // namespace pitwall::notifier
