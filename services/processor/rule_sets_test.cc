#include "services/processor/rule_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/io/topics.h"
#include "services/processor/processor.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/memory_log.h"

namespace pitwall::processor {
namespace {

using ::testing::HasSubstr;

class RuleSetsTest : public ::testing::Test {
 protected:
  RuleSetsTest() { EXPECT_TRUE(EnsureTopics(&log_, {.telemetry_partitions = 1}).ok()); }

  static engine::CompiledRulesPtr Compiled() {
    return *engine::CompiledRules::Accept(
        {.files = {{"p.yaml", "groups: [{name: g, rules: [{alert: A, expr: m > 1}]}]\n"}}});
  }
  void Append(const std::string& key, std::string value) {
    const auto appender = log_.OpenAppender();
    ASSERT_TRUE((*appender)
                    ->Append({{.topic = std::string(kRulesTopic),
                               .partition = 0,
                               .key = key,
                               .value = std::move(value)}})
                    .ok());
  }
  int64_t Records() {
    const auto reader = log_.OpenReader({std::string(kRulesTopic), 0}, kFromStart);
    return *(*reader)->EndOffset();
  }

  fakes::FakeClock clock_;
  fakes::MemoryLog log_{&clock_};
};

// All partitions share the rule set that was compiled at startup.
TEST_F(RuleSetsTest, PublishedSetIsNotRecompiled) {
  RuleSets sets(&log_);
  const engine::CompiledRulesPtr rules = Compiled();
  ASSERT_TRUE(sets.Publish(rules).ok());
  EXPECT_EQ(*sets.Load(rules->hash()), rules);
  EXPECT_EQ(rules->hash(), RuleSetHash(rules->text()));
  EXPECT_EQ(rules->hash(), rules->program()->hash);
  // The next start compiles its own copy and finds the existing record on the topic.
  RuleSets next(&log_);
  const engine::CompiledRulesPtr again = Compiled();
  ASSERT_TRUE(next.Publish(again).ok());
  EXPECT_EQ(*next.Load(rules->hash()), again);
  EXPECT_EQ(Records(), 1);
  // A reader compiles the rule set once for all callers.
  RuleSets reading(&log_);
  const engine::CompiledRulesPtr read = *reading.Load(rules->hash());
  EXPECT_EQ(read->text(), rules->text());
  EXPECT_EQ(*reading.Load(rules->hash()), read);
}

TEST_F(RuleSetsTest, DamagedRecordDoesNotHideIntactRecord) {
  const engine::CompiledRulesPtr rules = Compiled();
  std::string damaged = codec::EncodeRuleSet(rules->text());
  damaged[damaged.size() / 2] ^= 1;
  Append(rules->hash(), damaged);
  RuleSets reading(&log_);
  const Status refused = reading.Load(rules->hash()).status();
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("record at offset 0: "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(rules->hash()));
  RuleSets starting(&log_);
  ASSERT_TRUE(starting.Publish(rules).ok());
  EXPECT_EQ(Records(), 2);
  EXPECT_TRUE(reading.Load(rules->hash()).ok());
  EXPECT_TRUE(absl::IsNotFound(reading.Load("0123").status()));
}

}  // namespace
}  // namespace pitwall::processor
