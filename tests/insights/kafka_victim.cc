// insights_kafka_victim TOPICS STORE: builds the history from the broker under test until the
// process is killed or has read and sealed everything. TOPICS is the prefix of the topic names.
#include "tests/insights/victim_run.h"
#include "tests/kafka/broker_under_test.h"

int main(int argc, char** argv) {
  using namespace pitwall;
  if (argc != 3) return 2;
  const auto log = kafka::OpenTestLog();
  return history::RunVictim(kafka::TestClock(), log.get(),
                            history::VictimOptions(argv[2], argv[1]));
}
