#include "tests/kafka/broker_under_test.h"
#include "tests/scenarios/scenario_log.h"

namespace pitwall::scenarios {

const std::vector<LogKind>& LogKinds() {
  static const std::vector<LogKind> kinds = {
      {"Kafka",
       [](Clock*, const std::string&) -> StatusOr<std::unique_ptr<Log>> {
         return kafka::OpenTestLog();
       },
       /*stamps_itself=*/true}};
  return kinds;
}

}  // namespace pitwall::scenarios
