// Processor for one partition of a log, to be killed by tests: `processor_victim <log location>
// <partition> <group>`. Prints its position on stdout after every round and exits when it has
// caught up. Clock ticks are disabled.
#include <cstdio>
#include <cstdlib>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/processor/partition_processor.h"
#include "services/processor/rule_sets.h"
#include "tests/scenarios/victim_log.h"

int main(int argc, char** argv) {
  using namespace pitwall;
  if (argc != 4) return 2;
  static clock::SystemClock clock;
  auto log = scenarios::OpenVictimLog(argv[1], &clock);
  if (!log.ok()) {
    std::fprintf(stderr, "victim: %s\n", log.status().ToString().c_str());
    return 2;
  }
  processor::RuleSets rules(log->get());
  processor::PartitionOptions options;
  options.group = argv[3];
  options.clock_ticks = false;
  options.poll_records = 50;
  options.commit_interval = Duration::Millis(5);
  const auto partition = static_cast<int32_t>(std::atoi(argv[2]));
  processor::PartitionProcessor processor(partition, &clock, log->get(), &rules, options);
  Status status = processor.Recover();
  bool reported = false;
  for (int quiet = 0; status.ok();) {
    status = processor.RunOnce(Duration::Millis(10));
    const processor::PartitionStats stats = processor.stats();
    if (!reported && !stats.recovering) {
      reported = true;
      std::printf("replayed %llu\n",
                  static_cast<unsigned long long>(stats.replay.records_replayed));
    }
    std::printf("at %lld\n", static_cast<long long>(stats.commits.next_offset));
    std::fflush(stdout);
    quiet = status.ok() && processor.CaughtUp() ? quiet + 1 : 0;
    if (quiet >= 3) break;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "victim: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
