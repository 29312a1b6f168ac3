// Contract tests for services/io/io.h, run against every implementation of the log.
//
// An implementation provides a LogUnderTest and one line in its own _test.cc, in namespace
// pitwall::contract (or after a using declaration for LogContract):
//
//   PITWALL_INSTANTIATE_LOG_CONTRACT(Embedded, (LogContractParam{"Embedded", [] { return
//     std::make_unique<…>(); }}));
//
// and links tests_contract. The suite does not assume dense offsets: transaction markers,
// compaction, and the like may leave holes, including at the end (EndOffset may exceed the last
// record's offset + 1).
//
// Requirements that the services rely on in addition to those in io.h:
//
// * After a Poll that returned nothing, position() has reached the EndOffset() from before that
//   Poll (holes at the end are skipped): the owner of a partition uses this to detect the end
//   (time-model.md, 2.1).
// * Interrupt() before a Poll ends that Poll's wait: a stop request is never lost.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall::contract {

// A log and its storage. The suite opens it once per test, may restart it, and destroys it at the
// end.
class LogUnderTest {
 public:
  virtual ~LogUnderTest() = default;
  // Opens the log so that log() is valid. Called once, before any other function.
  virtual Status Open() = 0;
  virtual Log* log() = 0;
  // Closes the log and reopens it on the same data; log() then returns a new object. The suite has
  // already destroyed all readers, appenders, and committers.
  virtual Status Restart() = 0;
  // Returns an unused topic name, e.g. with a random suffix. The name must be valid in Kafka:
  // [a-zA-Z0-9._-], <= 249 characters.
  virtual std::string UniqueTopic(std::string_view hint) = 0;
  // Maximum wait for an expected record.
  virtual Duration patience() const { return Duration::Seconds(30); }
  // Time without a record after which the suite assumes that none will arrive.
  virtual Duration silence() const { return Duration::Millis(50); }
  // Largest value that the log must accept. io.h leaves the limit to the configuration.
  virtual size_t largest_value() const { return size_t{1} << 20; }
};

struct LogContractParam {
  std::string name;
  std::function<std::unique_ptr<LogUnderTest>()> make;
};
inline std::string LogContractName(const ::testing::TestParamInfo<LogContractParam>& info) {
  return info.param.name;
}
inline void PrintTo(const LogContractParam& param, std::ostream* out) { *out << param.name; }

class LogContract : public ::testing::TestWithParam<LogContractParam> {
 protected:
  void SetUp() override;

  Log* log() { return under_test_->log(); }
  void Restart();
  // Creates a new topic.
  std::string Topic(std::string_view hint, int32_t partitions = 1, bool compacted = false);
  static OutgoingRecord Out(std::string_view topic, int32_t partition, std::string_view key,
                            std::string_view value);
  void Append(std::vector<OutgoingRecord> records);
  std::unique_ptr<PartitionReader> Reader(const TopicPartition& at, int64_t from = kFromStart);
  std::unique_ptr<Committer> NewCommitter(std::string_view id);
  // Polls until `count` records have arrived; fails the test after patience().
  std::vector<Record> Read(PartitionReader* reader, size_t count);
  // Returns the values of exactly `count` records starting at `from`. Waits for them, then checks
  // that no further record follows.
  std::vector<std::string> Values(const TopicPartition& at, size_t count,
                                  int64_t from = kFromStart);
  // Fails the test if a record arrives within silence().
  void ExpectNothing(PartitionReader* reader);
  // Retries until `predicate` holds or patience() has elapsed. Records may become visible some time
  // after Apply, because Kafka writes its markers later.
  bool Eventually(const std::function<bool()>& predicate);
  // Waits until the group's committed position is `offset`.
  void ExpectCommitted(std::string_view group, const TopicPartition& at, int64_t offset,
                       std::string_view metadata);

  std::unique_ptr<LogUnderTest> under_test_;
};

// References to these functions make the linker keep the tests, which are in a static library.
void LinkLogContractRecords();
void LinkLogContractCommits();

}  // namespace pitwall::contract

#define PITWALL_INSTANTIATE_LOG_CONTRACT(prefix, under_test)                   \
  [[maybe_unused]] static const bool kLogContractLinked##prefix =              \
      (::pitwall::contract::LinkLogContractRecords(),                          \
       ::pitwall::contract::LinkLogContractCommits(), true);                   \
  INSTANTIATE_TEST_SUITE_P(prefix, LogContract, ::testing::Values(under_test), \
                           ::pitwall::contract::LogContractName)
