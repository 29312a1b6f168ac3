// The real broker that the tests of this folder run against; tests/kafka/run.sh starts it and tells
// where it is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/kafka/kafka_log.h"

namespace pitwall::kafka {

// PITWALL_TEST_KAFKA ("host:port"); the process ends with exit code 2 when it is not set: a run
// without a broker must never look like a passed one.
std::string TestBrokers();
// Runs `deploy/kafka/broker.sh VERB DIR` for the broker under test (PITWALL_TEST_BROKER_SH,
// PITWALL_TEST_KAFKA_DIR).
void BrokerCommand(std::string_view verb);

Clock* TestClock();
KafkaLogOptions TestOptions();
// With TestOptions() unless others are given; a failure ends the process.
std::unique_ptr<Log> OpenTestLog();
std::unique_ptr<Log> OpenTestLog(const KafkaLogOptions& options);
// A name that nothing used before.
std::string UniqueName(std::string_view hint);

}  // namespace pitwall::kafka
