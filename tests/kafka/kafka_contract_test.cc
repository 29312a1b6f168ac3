// Runs the log contract tests (tests/contract) against Apache Kafka.
#include <memory>
#include <string>

#include "services/base/time.h"
#include "tests/contract/log_contract.h"
#include "tests/kafka/broker_under_test.h"

namespace pitwall::contract {
namespace {

class KafkaUnderTest final : public LogUnderTest {
 public:
  Status Open() override {
    auto log = kafka::OpenKafkaLog(kafka::TestOptions(), kafka::TestClock());
    RETURN_IF_ERROR(log.status());
    log_ = *std::move(log);
    return OkStatus();
  }
  Log* log() override { return log_.get(); }
  Status Restart() override {
    log_.reset();
    return Open();
  }
  std::string UniqueTopic(std::string_view hint) override { return kafka::UniqueName(hint); }
  // A Kafka reader must find the leader, connect, and fetch before it returns records.
  Duration silence() const override { return Duration::Millis(300); }
  size_t largest_value() const override {
    return static_cast<size_t>(kafka::TestOptions().max_record_bytes) - 100;
  }

 private:
  std::unique_ptr<Log> log_;
};

// Makes the linker keep the suite's tests, which are in a static library.
[[maybe_unused]] const bool kLinked = (LinkLogContractRecords(), LinkLogContractCommits(), true);

INSTANTIATE_TEST_SUITE_P(Kafka, LogContract,
                         ::testing::Values(LogContractParam{
                             "Kafka", [] { return std::make_unique<KafkaUnderTest>(); }}));

}  // namespace
}  // namespace pitwall::contract
