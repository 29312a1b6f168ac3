// Test fixture with an in-memory log of one partition and the processor that owns it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/topics.h"
#include "services/processor/partition_processor.h"
#include "services/processor/processor.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"
#include "tests/telemetry_script/log_append.h"

namespace pitwall::processor {

class PartitionFixture : public ::testing::Test {
 protected:
  PartitionFixture() {
    EXPECT_TRUE(EnsureTopics(&log_, {.telemetry_partitions = 1}).ok());
    rules_.emplace(&log_);
  }

  // Publishes the rules that the next owner evaluates.
  void Publish(std::string_view rules) {
    const auto compiled =
        engine::CompiledRules::Accept({.files = {{"pack.yaml", std::string(rules)}}});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    ASSERT_TRUE(rules_->Publish(*compiled).ok());
    hash_ = (*compiled)->hash();
  }
  // Simulates a new partition owner.
  Status Open() {
    owner_.emplace(0, &clock_, &log_, &*rules_, options_);
    owner_->WantRules(hash_);
    return owner_->Recover();
  }
  void Append(std::string_view topic, std::string_view key, std::string value,
              bool tombstone = false) {
    const auto appender = log_.OpenAppender();
    ASSERT_TRUE((*appender)
                    ->Append({{.topic = std::string(topic),
                               .partition = 0,
                               .key = std::string(key),
                               .value = std::move(value),
                               .tombstone = tombstone}})
                    .ok());
  }
  // Appends the records of a telemetry script (tests/telemetry_script) whose zero is now.
  void Play(std::string_view script) {
    const Status appended =
        telemetry_script::AppendTo(&log_, 0, sources_.Play(script, clock_.WallNs()));
    ASSERT_TRUE(appended.ok()) << appended;
  }
  // Runs the owner for `seconds` seconds.
  void Run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock_.Advance(kNanosPerSecond);
      for (int round = 0; round < 4; ++round) {
        const Status status = owner_->RunOnce(Duration::Zero());
        ASSERT_TRUE(status.ok()) << status;
      }
    }
  }
  // Appends one sample of series m per second for `seconds` seconds while the owner runs.
  void Feed(int seconds, double value, std::string_view job = "job") {
    for (int i = 0; i < seconds; ++i) {
      Play(Cat(job, "/n sends m=", value));
      Run(1);
    }
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
  PartitionOptions options_;
  std::optional<RuleSets> rules_;
  std::string hash_;
  std::optional<PartitionProcessor> owner_;
  telemetry_script::ScriptedSources sources_;
};

}  // namespace pitwall::processor
