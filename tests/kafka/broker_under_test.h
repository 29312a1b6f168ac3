// Access to the real broker that the tests in this folder use. tests/kafka/run.sh starts the broker
// and passes its address.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/kafka/kafka_log.h"

namespace pitwall::kafka {

// Returns PITWALL_TEST_KAFKA ("host:port"). If the variable is not set, the process exits with code
// 2, because a run without a broker must never look like a successful run.
std::string TestBrokers();
// Runs `deploy/kafka/broker.sh VERB DIR` for the broker under test (PITWALL_TEST_BROKER_SH,
// PITWALL_TEST_KAFKA_DIR).
void BrokerCommand(std::string_view verb);

Clock* TestClock();
KafkaLogOptions TestOptions();
// Opens the log with TestOptions() unless other options are given. A failure terminates the
// process.
std::unique_ptr<Log> OpenTestLog();
std::unique_ptr<Log> OpenTestLog(const KafkaLogOptions& options);
// Returns an unused name.
std::string UniqueName(std::string_view hint);

}  // namespace pitwall::kafka
