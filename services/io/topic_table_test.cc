#include "services/io/topic_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class TopicTableTest : public testing::Test {
 protected:
  TopicTableTest() {
    EXPECT_TRUE(log_.EnsureTopic("table", {.partitions = 1, .compacted = true}).ok());
  }
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(
        table_.Write({{.topic = "table", .partition = 0, .key = key, .value = value}}).ok());
  }
  void Remove(const std::string& key) {
    ASSERT_TRUE(
        table_.Write({{.topic = "table", .partition = 0, .key = key, .tombstone = true}}).ok());
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  std::map<std::string, std::string> rows_;
  Status replaced_;
  TopicTable table_{&clock_,
                    &log_,
                    "table",
                    {.put = [this](const Record& record) { rows_[record.key] = record.value; },
                     .remove = [this](const std::string& key) { rows_.erase(key); },
                     .replaced =
                         [this](const Status& why) {
                           replaced_ = why;
                           rows_.clear();
                         }}};
};

TEST_F(TopicTableTest, ReadsTheNewestValueOfEachKey) {
  Put("a", "1");
  Put("b", "1");
  Put("a", "2");
  Remove("b");
  ASSERT_TRUE(table_.ReadToEnd().ok());
  EXPECT_THAT(rows_, ElementsAre(Pair("a", "2")));
}

TEST_F(TopicTableTest, ReportsWhetherAnythingChanged) {
  Put("a", "1");
  EXPECT_TRUE(*table_.ReadNew());
  EXPECT_FALSE(*table_.ReadNew());
  Remove("a");
  EXPECT_TRUE(*table_.ReadNew());
  EXPECT_THAT(rows_, IsEmpty());
}

TEST_F(TopicTableTest, StartsAgainInAReplacedTopic) {
  Put("a", "1");
  Put("b", "1");
  ASSERT_TRUE(table_.ReadToEnd().ok());
  log_.Recreate("table");
  Put("c", "1");
  ASSERT_TRUE(table_.ReadToEnd().ok());
  EXPECT_THAT(rows_, ElementsAre(Pair("c", "1")));
  EXPECT_THAT(replaced_.message(), HasSubstr("log_truncated: table/0"));
}

TEST_F(TopicTableTest, ContinuesAfterAnError) {
  Put("a", "1");
  ASSERT_TRUE(table_.ReadToEnd().ok());
  log_.FailPolls(1, Unavailable("no leader"));
  Put("b", "1");
  EXPECT_EQ(table_.ReadNew().status().message(), "no leader");
  EXPECT_TRUE(*table_.ReadNew());
  EXPECT_THAT(rows_, ElementsAre(Pair("a", "1"), Pair("b", "1")));
}

TEST_F(TopicTableTest, ATopicThatDoesNotExistIsNotFound) {
  TopicTable other(&clock_, &log_, "other", {});
  EXPECT_TRUE(absl::IsNotFound(other.ReadToEnd()));
}

TEST_F(TopicTableTest, ReturnsErrorsOfWrites) {
  log_.SetWriteFault([](std::string_view) { return ResourceExhausted("the disk is full"); });
  EXPECT_EQ(table_.Write({{.topic = "table", .partition = 0, .key = "a"}}).message(),
            "the disk is full");
}

}  // namespace
}  // namespace pitwall
