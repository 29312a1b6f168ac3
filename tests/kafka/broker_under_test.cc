#include "tests/kafka/broker_under_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "services/base/text/strings.h"

namespace pitwall::kafka {
namespace {

std::string Required(const char* variable) {
  const char* value = std::getenv(variable);
  if (value != nullptr && *value != '\0') return value;
  std::fprintf(stderr,
               "%s is not set: run this through tests/kafka/run.sh, which starts a broker\n",
               variable);
  std::exit(2);
}

}  // namespace

std::string TestBrokers() { return Required("PITWALL_TEST_KAFKA"); }

void BrokerCommand(std::string_view verb) {
  const std::string script = Required("PITWALL_TEST_BROKER_SH");
  const std::string dir = Required("PITWALL_TEST_KAFKA_DIR");
  const std::string command(verb);
  const pid_t child = fork();
  if (child == 0) {
    execl(script.c_str(), script.c_str(), command.c_str(), dir.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    std::fprintf(stderr, "%s %s %s failed with status %d\n", script.c_str(), command.c_str(),
                 dir.c_str(), status);
    std::exit(2);
  }
}

Clock* TestClock() {
  static clock::SystemClock* const system_clock = new clock::SystemClock;
  return system_clock;
}

KafkaLogOptions TestOptions() {
  KafkaLogOptions options;
  options.brokers = TestBrokers();
  options.client_id = "pitwall-test";
  // A seek waits for the current fetch, and an idle broker delays the fetch for this long.
  options.rdkafka["fetch.wait.max.ms"] = "50";
  return options;
}

std::unique_ptr<Log> OpenTestLog() { return OpenTestLog(TestOptions()); }

std::unique_ptr<Log> OpenTestLog(const KafkaLogOptions& options) {
  auto log = OpenKafkaLog(options, TestClock());
  if (!log.ok()) {
    std::fprintf(stderr, "cannot open the log: %s\n", log.status().ToString().c_str());
    std::exit(2);
  }
  return *std::move(log);
}

std::string UniqueName(std::string_view hint) {
  static const uint32_t run = std::random_device{}();
  static std::atomic<int> count{0};
  return Cat(hint, "-", getpid(), "-", run, "-", count++);
}

}  // namespace pitwall::kafka
