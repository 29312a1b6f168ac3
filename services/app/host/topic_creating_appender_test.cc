#include "services/app/host/topic_creating_appender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/io/topics.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/forwarding_log.h"
#include "tests/fakes/memory_log.h"

namespace pitwall {
namespace {

// Log that cannot create topics until the test sets `answer` to OK.
class RefusingLog final : public fakes::ForwardingLog {
 public:
  using ForwardingLog::ForwardingLog;
  Status answer = InvalidArgument("Replication factor: 3 larger than available brokers: 1.");

  Status EnsureTopic(std::string_view topic, const TopicConfig& config) override {
    return answer.ok() ? ForwardingLog::EnsureTopic(topic, config) : answer;
  }
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
