#include "services/app/host/topic_creating_appender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/io/topics.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall {
namespace {

// Log that cannot create topics until the test sets `answer` to OK.
class RefusingLog final : public Log {
 public:
  explicit RefusingLog(Log* log) : log_(log) {}
  Status answer = InvalidArgument("Replication factor: 3 larger than available brokers: 1.");

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override {
    return answer.ok() ? log_->EnsureTopic(topic, config) : answer;
  }
  StatusOr<int32_t> Partitions(std::string_view topic) override { return log_->Partitions(topic); }
  StatusOr<std::unique_ptr<PartitionReader>> OpenReader(const TopicPartition& at,
                                                        int64_t from) override {
    return log_->OpenReader(at, from);
  }
  StatusOr<std::unique_ptr<Appender>> OpenAppender() override { return log_->OpenAppender(); }
  StatusOr<std::unique_ptr<Committer>> OpenCommitter(std::string_view id) override {
    return log_->OpenCommitter(id);
  }
  StatusOr<std::optional<CommittedOffset>> Committed(std::string_view group,
                                                     const TopicPartition& at) override {
    return log_->Committed(group, at);
  }
  Status StorePosition(std::string_view group, const TopicPartition& at,
                       const CommittedOffset& to) override {
    return log_->StorePosition(group, at, to);
  }

 private:
  Log* const log_;
};

TEST(TopicCreatingAppender, Append_TopicCreationFails_ReturnsUnavailable) {
  fakes::FakeClock clock;
  fakes::MemoryLog memory(&clock);
  RefusingLog log(&memory);
  TopicCreatingAppender appender(&log, {}, *log.OpenAppender());
  const auto append = [&] {
    return appender.Append({{.topic = std::string(kTelemetryTopic), .key = "j", .value = "v"}});
  };
  const Status refused = append();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("Replication factor"));
  log.answer = OkStatus();
  EXPECT_TRUE(append().ok());
}

}  // namespace
}  // namespace pitwall
