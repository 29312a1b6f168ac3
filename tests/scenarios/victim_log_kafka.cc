#include "tests/kafka/broker_under_test.h"
#include "tests/scenarios/victim_log.h"

namespace pitwall::scenarios {

StatusOr<std::unique_ptr<Log>> OpenVictimLog(const std::string& place, Clock* clock) {
  kafka::KafkaLogOptions options = kafka::TestOptions();
  options.brokers = place;
  return kafka::OpenKafkaLog(options, clock);
}
std::string VictimPlace(const std::string&) { return kafka::TestBrokers(); }

}  // namespace pitwall::scenarios
