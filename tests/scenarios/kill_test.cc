// Kills the processor (kill -9) at twenty random moments while it reads a recorded input. The
// complete, ordered list of committed events must equal the list from an uninterrupted run over the
// same records with the same append times.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>

#include "services/adapters/clock/system_clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/engine/shard.h"
#include "services/io/topics.h"
#include "services/processor/processor.h"
#include "tests/scenarios/plan.h"
#include "tests/scenarios/victim_log.h"
#include "tests/telemetry_script/log_append.h"

namespace pitwall::scenarios {
namespace {

const std::string kRules = EverySecond(R"rules(
  - alert: LowGPU
    expr: avg_over_time(hw_gpu_utilization_ratio[30s]) < 0.4
    for: 20s
    explains: [Mean, SlowStep]
  - {record: "job:gpu:avg", expr: "avg(hw_gpu_utilization_ratio)"}
  - {alert: Mean, expr: "avg_over_time(job:gpu:avg[5m]) < 0.6", for: 1m}
  - {alert: Vanished, expr: "absent(hw_gpu_utilization_ratio)", for: 60s}
- name: steps
  clock: step
  interval: 1
  rules:
  - alert: SlowStep
    expr: train_step_duration_seconds > 2 * avg_over_time(train_step_duration_seconds[50])
    explains: [Mean]
)rules");
constexpr int64_t kRecordsPerSecond = 4 + 2 + 1;  // nodes, ranks, tick

std::vector<ScriptRecord> Input(int64_t base, uint32_t seed, const std::string& rules) {
  std::mt19937 random(seed);
  std::string script = Cat("owner loads ", rules, "\ncollector@0..3 beats\n",
                           "rank-0..1(node=0 modes=train) beats\n");
  for (int second = 1; second <= 20 * 60; ++second) {
    if (second > 15 * 60 && second < 18 * 60) continue;  // all sources are silent
    for (int n = 0; n < 4; ++n) {
      const bool low = (second / 90 + n) % 4 == 0;
      CatTo(script, "collector@", n, " sends hw_gpu_utilization_ratio=",
            static_cast<double>(random() % 1000) / 1000 * (low ? 0.5 : 1), " @", second, "s\n");
    }
    for (int rank = 0; rank < 2; ++rank) {
      CatTo(script, "rank-", rank, " steps ", second - 1,
            " train_step_duration_seconds=", random() % 40 == 0 ? 3 : 1, " @", second, "s\n");
    }
  }
  Plan plan(base, "job");
  plan.Play(Cat(script, "owner ticks @1s..1200s\n"));
  return plan.records;
}

struct VictimRun {
  int exit_code = -1;  // -1: killed
  int64_t replayed = -1;
};

// Starts the victim and kills it when it reports position `until` or a later one.
VictimRun RunVictim(const std::string& place, int32_t partition, const std::string& group,
                    int64_t until) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe_ends[1], 1);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    const std::string number = Cat(partition);
    ::execl(PITWALL_PROCESSOR_VICTIM, PITWALL_PROCESSOR_VICTIM, place.c_str(), number.c_str(),
            group.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  VictimRun run;
  std::FILE* lines = ::fdopen(pipe_ends[0], "r");
  char line[128];
  while (std::fgets(line, sizeof(line), lines) != nullptr) {
    const std::string_view text = Trim(line);
    if (StartsWith(text, "replayed ")) run.replayed = *ParseInt(text.substr(9));
    if (StartsWith(text, "at ") && *ParseInt(text.substr(3)) >= until) {
      ::kill(pid, SIGKILL);
      break;
    }
  }
  std::fclose(lines);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  return run;
}

std::vector<Record> ReadAll(Log* log, std::string_view topic, int32_t partition) {
  std::vector<Record> records;
  auto reader = log->OpenReader({std::string(topic), partition}, kFromStart);
  EXPECT_TRUE(reader.ok()) << reader.status();
  const auto end = (*reader)->EndOffset();
  EXPECT_TRUE(end.ok());
  while ((*reader)->position() < *end)
    EXPECT_TRUE((*reader)->Poll(1000, 8 << 20, Duration::Seconds(1), &records).ok());
  return records;
}

TEST(Kill, CommittedEventsEqualThoseOfUninterruptedRun) {
  const uint32_t seed = std::random_device()();
  std::fprintf(stderr, "kill_test: seed %u\n", seed);
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  std::string pattern = (std::filesystem::temp_directory_path() / "pitwall-kill-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::string dir = pattern;
  const std::string place = VictimPlace(dir);
  static clock::SystemClock clock;
  constexpr int32_t kPartition = 0;
  const int64_t base = (clock.WallNs() / kSecond / 3600 - 2) * 3600 * kSecond;

  int64_t end = 0;
  {
    auto log = OpenVictimLog(place, &clock);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE(processor::EnsureTopics(log->get(), {}).ok());
    processor::RuleSets rules(log->get());
    const auto compiled = engine::CompiledRules::Accept({.files = {{"pack.yaml", kRules}}});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    ASSERT_TRUE(rules.Publish(*compiled).ok());
    const std::vector<ScriptRecord> input = Input(base, 1, (*compiled)->hash());
    const Status appended = telemetry_script::AppendTo(log->get(), kPartition, input);
    ASSERT_TRUE(appended.ok()) << appended;
    end = static_cast<int64_t>(input.size());
  }

  // Twenty random moments in the input, in ascending order. If two are close together, the second
  // kill happens before recovery has passed the first.
  std::vector<int64_t> moments;
  for (int i = 0; i < 20; ++i)
    moments.push_back(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(end - 10)));
  std::sort(moments.begin(), moments.end());
  int kills = 0;
  int64_t most_replayed = 0;
  for (const int64_t moment : moments) {
    const VictimRun run = RunVictim(place, kPartition, "killed", moment);
    ASSERT_LE(run.exit_code, 0) << "the victim failed on its own";
    kills += run.exit_code == -1 ? 1 : 0;
    most_replayed = std::max(most_replayed, run.replayed);
  }
  const VictimRun last = RunVictim(place, kPartition, "killed", INT64_MAX);
  ASSERT_EQ(last.exit_code, 0);
  most_replayed = std::max(most_replayed, last.replayed);
  EXPECT_EQ(kills, 20);
  // The limit is two snapshot intervals of log time.
  EXPECT_LT(most_replayed, 2 * 60 * kRecordsPerSecond);

  auto log = OpenVictimLog(place, &clock);
  ASSERT_TRUE(log.ok()) << log.status();
  std::vector<std::string> committed;
  for (Record& record : ReadAll(log->get(), kIssuesTopic, kPartition))
    committed.push_back(std::move(record.value));
  processor::RuleSets rules(log->get());
  engine::Shard shard(&rules, {});
  ASSERT_TRUE(shard.SetInitialRules("").ok());
  engine::EventSink outputs;
  for (const Record& record : ReadAll(log->get(), kTelemetryTopic, kPartition)) {
    ASSERT_TRUE(
        shard
            .Apply(LogOffset(record.offset), record.append_time, record.key, record.value, &outputs)
            .ok());
  }
  std::vector<std::string> unbroken;
  for (const IssueEvent& event : outputs.events)
    unbroken.push_back(cloudevents::EncodeCloudEvent(event));
  EXPECT_EQ(committed, unbroken);
  EXPECT_GE(unbroken.size(), 20u);
  EXPECT_GE(std::count_if(unbroken.begin(), unbroken.end(),
                          [](const std::string& event) {
                            return event.find("\"root_cause\"") != std::string::npos;
                          }),
            5);
  std::fprintf(stderr, "kill_test: %d kills, %zu events, at most %lld records read again of %lld\n",
               kills, unbroken.size(), static_cast<long long>(most_replayed),
               static_cast<long long>(end));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace pitwall::scenarios
