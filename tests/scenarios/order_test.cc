// Tests that reordering batches from different sources and duplicating batches do not change any
// events.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <random>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/engine/shard.h"
#include "tests/scenarios/scenario_log.h"

namespace pitwall::scenarios {
namespace {

const std::string kRules = EverySecond(R"rules(
  - alert: LowGPU
    expr: avg_over_time(hw_gpu_utilization_ratio[10s]) < 0.3
    for: 5s
    explains: [Mean, SlowStep]
  - alert: Spread
    expr: max(hw_gpu_utilization_ratio) - min(hw_gpu_utilization_ratio) > 0.9
    keep_firing_for: 3s
    explains: [LowGPU, {alert: Noisy, equal: [node]}]
  - {alert: Noisy, expr: "stddev_over_time(hw_gpu_utilization_ratio[20s]) > 0.35"}
  - {record: "job:gpu:avg", expr: "avg(hw_gpu_utilization_ratio)"}
  - {alert: Mean, expr: "quantile_over_time(0.5, job:gpu:avg[15s]) < 0.45"}
- name: steps
  clock: step
  interval: 1
  rules:
  - alert: SlowStep
    expr: train_step_duration_seconds > 2 * avg_over_time(train_step_duration_seconds[20])
    explains: [Spread, Noisy]
)rules");

std::vector<std::string> Replay(engine::RuleSetProvider* rules,
                                const std::vector<ScriptRecord>& records,
                                engine::EngineCounters* counters) {
  engine::Shard shard(rules, {});
  EXPECT_TRUE(shard.SetInitialRules("set").ok());
  engine::EventSink outputs;
  int64_t offset = 0;
  for (const ScriptRecord& record : records) {
    EXPECT_TRUE(shard
                    .Apply(LogOffset(offset++), AppendTime::FromNs(record.append_time_ns),
                           record.key, record.value, &outputs)
                    .ok());
  }
  *counters = shard.counters();
  return Encoded(outputs.events);
}

TEST(Order, ReorderedAndDuplicateBatchesDoNotChangeEvents) {
  const uint32_t seed = 20'261'126;
  SCOPED_TRACE(Cat("seed ", seed));
  std::mt19937 random(seed);
  const auto compiled = engine::CompiledRules::Compile({.files = {{"pack.yaml", kRules}}});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  engine::FixedRules rules(*compiled);

  const int64_t base = 1'767'225'600 * kSecond;
  Plan plan(base, "job");
  plan.Play("collector@0..4 beats; rank-0..3(node=0 modes=train) beats");
  const size_t joined = plan.records.size();
  // The last node joins in the middle. It announces itself well before its first sample.
  std::string script = "collector@5 beats @120s\n";
  for (int second = 1; second <= 240; ++second) {
    for (int n = 0; n < (second <= 120 ? 5 : 6); ++n) {
      const bool low = (second / 20 + n) % 3 == 0;
      CatTo(script, "collector@", n, " sends hw_gpu_utilization_ratio=",
            static_cast<double>(random() % 100) / 100 * (low ? 0.3 : 1), " @", second, "s\n");
    }
    for (int rank = 0; rank < 4; ++rank) {
      // The last rank pauses until the step clock drops it, and then returns.
      if (rank == 3 && second >= 60 && second < 160) continue;
      const int step = rank == 3 && second >= 160 ? second - 101 : second - 1;
      CatTo(script, "rank-", rank, " steps ", step, " train_step_duration_seconds=",
            random() % 15 == 0 ? 3 : 1 + static_cast<double>(random() % 100) / 1000, " @", second,
            "s\n");
    }
  }
  plan.Play(Cat(script, "rank-3 beats @60s..159s\nowner ticks @1s..240s\n"));

  engine::EngineCounters straight;
  const std::vector<std::string> expected = Replay(&rules, plan.records, &straight);
  size_t found = 0;
  for (const std::string& event : expected)
    found += event.find("io.pitwall.issue.found") != std::string::npos ? 1 : 0;
  ASSERT_GE(found, 10u);
  size_t explained = 0;
  for (const std::string& event : expected)
    explained += event.find("\"root_cause\"") != std::string::npos ? 1 : 0;
  EXPECT_GE(explained, 10u);
  EXPECT_EQ(straight.drops[static_cast<size_t>(engine::Drop::kLate)], 0u);
  EXPECT_EQ(straight.drops[static_cast<size_t>(engine::Drop::kLateStep)], 0u);

  for (int round = 0; round < 10; ++round) {
    // Each batch is delayed by 0 to 2 ticks, but never reordered within its source. 10% of the
    // batches are duplicated slightly later. The first batch of the joining node keeps its
    // position. This is the only exception in time-model.md.
    std::vector<ScriptRecord> shuffled(plan.records.begin(),
                                       plan.records.begin() + static_cast<int64_t>(joined));
    std::map<std::string, std::deque<ScriptRecord>> held;
    std::deque<ScriptRecord> again;
    size_t crossed = 0, batches = 0, duplicated = 0;
    std::vector<ScriptRecord> now;
    const auto release = [&](bool all) {
      std::vector<std::deque<ScriptRecord>*> queues;
      for (auto& [source, queue] : held) {
        size_t keep =
            all || random() % 10 >= 4 ? 0 : std::min<size_t>(queue.size(), 1 + random() % 2);
        crossed += keep;
        for (size_t i = queue.size() - keep; i > 0; --i) queues.push_back(&queue);
      }
      std::shuffle(queues.begin(), queues.end(), random);
      for (auto* queue : queues) {
        shuffled.push_back(queue->front());
        if (random() % 10 == 0) {
          again.push_back(queue->front());
          ++duplicated;
        }
        queue->pop_front();
      }
      while (!again.empty() && (all || random() % 2 == 0)) {
        shuffled.push_back(again.front());
        again.pop_front();
      }
    };
    for (size_t i = joined; i < plan.records.size(); ++i) {
      const ScriptRecord& record = plan.records[i];
      if (!record.source.empty()) {
        ++batches;
        const bool joins = record.source == "collector@5" && held.find(record.source) == held.end();
        held[record.source];
        if (joins) {
          shuffled.push_back(record);
        } else {
          held[record.source].push_back(record);
        }
        continue;
      }
      release(false);
      shuffled.push_back(record);
    }
    release(true);
    EXPECT_GE(crossed, batches * 3 / 10);
    EXPECT_GE(duplicated, batches / 20);
    engine::EngineCounters counters;
    const std::vector<std::string> events = Replay(&rules, shuffled, &counters);
    EXPECT_EQ(counters.drops[static_cast<size_t>(engine::Drop::kLate)], 0u);
    EXPECT_EQ(counters.drops[static_cast<size_t>(engine::Drop::kDuplicate)], duplicated);
    EXPECT_EQ(counters.gaps, 0u);
    // Events from the last ticks may be missing. All earlier events must be equal and in order.
    ASSERT_EQ(events, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace pitwall::scenarios
