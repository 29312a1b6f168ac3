// The contract of services/io/io.h, run over every implementation of the log.
//
// An implementation writes a LogUnderTest and one line in a _test.cc of its own, in namespace
// pitwall::contract (or after a using declaration of LogContract):
//
//   PITWALL_INSTANTIATE_LOG_CONTRACT(Embedded, (LogContractParam{"Embedded", [] { return
//   std::make_unique<…>(); }}));
//
// and links tests_contract. The suite assumes no dense offsets: transaction markers, compaction and
// the like may leave holes, also at the end (EndOffset may be larger than the last record's offset
// + 1).
//
// What the suite asks beyond the letter of io.h, because the shell relies on it:
//  * After a Poll that returned nothing, position() has reached the EndOffset() that held before
//  that Poll (holes at
//    the end are stepped over): the owner of a partition asks this to know whether it is at the end
//    (time-model.md, 2.1).
//  * Interrupt() before a Poll ends that Poll's wait: there is no window in which a stop request
//  gets lost.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::contract {

// One log with its storage. The suite opens it once per test, may restart it, and destroys it at
// the end.
class LogUnderTest {
 public:
  virtual ~LogUnderTest() = default;
  // Makes log() valid. Called once, first.
  virtual Status Open() = 0;
  virtual Log* log() = 0;
  // Closes the log and opens it again over the same data; log() is then another one. The suite has
  // destroyed all readers, appenders and committers before.
  virtual Status Restart() = 0;
  // A topic name that nothing used before, e.g. with a random suffix. Allowed by Kafka:
  // [a-zA-Z0-9._-], <= 249.
  virtual std::string UniqueTopic(std::string_view hint) = 0;
  // How long the suite waits for a record that must come.
  virtual int64_t patience_ns() const { return int64_t{30} * 1'000'000'000; }
  // How long it waits to see that none comes.
  virtual int64_t silence_ns() const { return int64_t{50} * 1'000'000; }
  // The largest value that the log must take (io.h leaves it to the configuration).
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
  // A fresh topic.
  std::string Topic(std::string_view hint, int32_t partitions = 1, bool compacted = false);
  static OutgoingRecord Out(std::string_view topic, int32_t partition, std::string_view key,
                            std::string_view value);
  void Append(std::vector<OutgoingRecord> records);
  std::unique_ptr<PartitionReader> Reader(const TopicPartition& at, int64_t from = kFromStart);
  std::unique_ptr<Committer> NewCommitter(std::string_view id);
  // Polls until `count` records came; fails the test after patience_ns.
  std::vector<Record> Read(PartitionReader* reader, size_t count);
  // The values of exactly `count` records from `from` on: waits for them, then sees that there is
  // no other.
  std::vector<std::string> Values(const TopicPartition& at, size_t count,
                                  int64_t from = kFromStart);
  // Fails the test when a record comes within silence_ns.
  void ExpectNothing(PartitionReader* reader);
  // A log may take a moment from the end of Apply until all of it is seen (Kafka writes its markers
  // later): asks again until `predicate` holds or patience_ns have passed.
  bool Eventually(const std::function<bool()>& predicate);
  // The group's position, waited for until it is `offset`.
  void ExpectCommitted(std::string_view group, const TopicPartition& at, int64_t offset,
                       std::string_view metadata);

  std::unique_ptr<LogUnderTest> under_test_;
};

// The tests live in a static library: these references make the linker keep them.
void LinkLogContractRecords();
void LinkLogContractCommits();

}  // namespace pitwall::contract

#define PITWALL_INSTANTIATE_LOG_CONTRACT(prefix, under_test)                   \
  [[maybe_unused]] static const bool kLogContractLinked##prefix =              \
      (::pitwall::contract::LinkLogContractRecords(),                          \
       ::pitwall::contract::LinkLogContractCommits(), true);                   \
  INSTANTIATE_TEST_SUITE_P(prefix, LogContract, ::testing::Values(under_test), \
                           ::pitwall::contract::LogContractName)
