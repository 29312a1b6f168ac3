// Test that kills a process (kill -9) at 20 random moments during ingestion and sealing, with a
// real broker. Afterwards, all query results must be bit-identical to those of an uninterrupted
// run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <random>

#include "tests/insights/history_data.h"
#include "tests/insights/victim_run.h"
#include "tests/kafka/kafka_fixture.h"

extern char** environ;

namespace pitwall::history {
namespace {

namespace fs = std::filesystem;

class KafkaKillTest : public kafka::KafkaTest {
 protected:
  KafkaKillTest() {
    dir_ = Cat(::testing::TempDir(), "/pitwall-insights-kafka-", ::getpid());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    topics_ = kafka::UniqueName("history") + ".";
    for (const std::string_view topic :
         {kTelemetryTopic, kIssuesTopic, kActionsTopic, kCapturesTopic})
      EXPECT_TRUE(log_->EnsureTopic(Cat(topics_, topic), {.partitions = 1}).ok());
    std::vector<OutgoingRecord> records = HistoryRecords(11);
    for (OutgoingRecord& record : records) record.topic = topics_ + record.topic;
    Append(std::move(records));
  }
  ~KafkaKillTest() override { fs::remove_all(dir_); }

  // Reads the whole log and returns the results of all requests. Fails the test if a job is
  // missing.
  std::vector<std::string> AnswersOf(const std::string& store) {
    HistoryOptions options = VictimOptions(store, topics_);
    options.memory_bytes = HistoryOptions().memory_bytes;
    auto keep = HistoryService::Open(kafka::TestClock(), log_.get(), options);
    EXPECT_TRUE(keep.ok()) << keep.status();
    if (!keep.ok()) return {};
    EXPECT_TRUE((*keep)->Start().ok());
    const auto done = [&] {
      if (!(*keep)->Ready().ok()) return false;
      for (const char* job : {"job-a", "job-b", "job-c"}) {
        const auto life = (*keep)->history().FindJob(job);
        if (!life.ok() || (*life)->ended_ns == 0) return false;
      }
      return true;
    };
    for (int i = 0; i < 3000 && !done(); ++i) kafka::Pause(10 * kNanosPerMilli);
    EXPECT_TRUE(done()) << (*keep)->Health();
    std::vector<std::string> out;
    for (int i = 0; i < kRequests; ++i) {
      const auto answer = Answer((*keep)->history(), i);
      EXPECT_TRUE(answer.ok()) << "request " << i << ": " << answer.status();
      out.push_back(answer.ok() ? *answer : "");
    }
    return out;
  }
  pid_t StartVictim(const std::string& store) {
    std::string path = PITWALL_INSIGHTS_KAFKA_VICTIM, topics = topics_, store_dir = store;
    char* arguments[] = {path.data(), topics.data(), store_dir.data(), nullptr};
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, path.c_str(), nullptr, nullptr, arguments, environ), 0);
    return pid;
  }
  // Returns the exit status, or -1 if the process was killed.
  static int Wait(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string dir_, topics_;
};

TEST_F(KafkaKillTest, ResultsAreBitIdenticalAfterTwentyKills) {
  const std::vector<std::string> unbroken = AnswersOf(dir_ + "/unbroken");
  ASSERT_EQ(unbroken.size(), static_cast<size_t>(kRequests));
  size_t bytes = 0;
  for (const std::string& answer : unbroken) bytes += answer.size();
  EXPECT_GT(bytes, 1'000'000U);  // The requests must return data.
  const int64_t began = kafka::TestClock()->MonotonicNs();
  ASSERT_EQ(Wait(StartVictim(dir_ + "/timed")), 0);
  const int64_t took = kafka::TestClock()->MonotonicNs() - began;
  std::mt19937_64 random(3);
  const std::string store = dir_ + "/killed";
  int killed = 0;
  bool finished = true;
  for (int i = 0; killed < 20 && i < 200; ++i) {
    // A process that has finished cannot be interrupted, so the store is rebuilt from the
    // beginning.
    if (finished) fs::remove_all(store);
    const pid_t victim = StartVictim(store);
    kafka::Pause(static_cast<int64_t>(random() % static_cast<uint64_t>(took * (i % 4 + 1) / 4)));
    ::kill(victim, SIGKILL);
    finished = Wait(victim) != -1;
    killed += finished ? 0 : 1;
  }
  ASSERT_EQ(killed, 20);
  for (const char* when : {"with rows in memory", "sealed"}) {
    SCOPED_TRACE(when);
    const auto answers = AnswersOf(store);
    ASSERT_EQ(answers.size(), unbroken.size());
    for (size_t i = 0; i < unbroken.size(); ++i)
      EXPECT_EQ(answers[i] == unbroken[i], true) << "request " << i;
  }
}

}  // namespace
}  // namespace pitwall::history
