// Tests for jobs with overrides that change a window length or a matcher. Each job must be
// evaluated with its own variant of the rules, even after a restart or a late label.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/time.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kRules = R"(groups:
- name: g
  interval: 1s
  rules:
  - alert: Sum
    params: {window: 3, gpus: {value: '0', unit: regex}}
    expr: sum_over_time(x{gpu=~$gpus}[$window samples]) >= 4
)";

RuleSet SetOf(std::string_view overrides) {
  return {.files = {{"pack.yaml", std::string(kRules)}},
          .overrides = RuleSetFile{"overrides.yaml", std::string(overrides)}};
}

JobIdentity Named(std::string id) {
  JobIdentity job;
  job.id = std::move(id);
  return job;
}

std::string ExprOf(const plan::Program& program) {
  const plan::DomainPlan& domain = program.domains[0];
  return domain.nodes[domain.groups[0].rules[0].expr.index()].text;
}

TEST(Variants, EachJobHasItsOwnVariant) {
  const auto rules = CompiledRules::Compile(SetOf(R"(jobs:
- match: {job: "a*"}
  rules: {pack/g/Sum: {window: 5}}
- match: {job: "*b"}
  rules: {pack/g/Sum: {gpus: "1|2"}}
)"));
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ((*rules)->ProgramFor(Named("c")), (*rules)->program());
  EXPECT_THAT(ExprOf(*(*rules)->program()),
              AllOf(HasSubstr("gpu=~\"0\""), HasSubstr("[3 samples]")));
  EXPECT_THAT(ExprOf(*(*rules)->ProgramFor(Named("a1"))),
              AllOf(HasSubstr("gpu=~\"0\""), HasSubstr("[5 samples]")));
  EXPECT_THAT(ExprOf(*(*rules)->ProgramFor(Named("b"))),
              AllOf(HasSubstr("gpu=~\"1|2\""), HasSubstr("[3 samples]")));
  const plan::ProgramPtr both = (*rules)->ProgramFor(Named("ab"));
  EXPECT_THAT(ExprOf(*both), AllOf(HasSubstr("gpu=~\"1|2\""), HasSubstr("[5 samples]")));
  EXPECT_EQ((*rules)->ProgramFor(Named("aab")), both);
  EXPECT_EQ(both->hash, (*rules)->hash());
}

TEST(Variants, InvalidOverrideIsRejected) {
  for (const auto& [values, cause] : std::vector<std::pair<std::string, std::string>>{
           {"gpus: '('", "missing )"}, {"window: 5000", "4096"}}) {
    const auto rules = CompiledRules::Compile(
        SetOf(Cat("jobs: [{match: {job: a}, rules: {pack/g/Sum: {", values, "}}}]")));
    ASSERT_FALSE(rules.ok()) << values;
    EXPECT_THAT(rules.status().ToString(), HasSubstr("with the override of pack/g/Sum"));
    EXPECT_THAT(rules.status().ToString(), HasSubstr(cause));
  }
}

const Schema kGpus = SchemaOf({{Labels{{"__name__", "x"}, {"gpu", "1"}}, SeriesKind::kGauge}});

// GPU 1 has one sample per second. The original rule does not fire; the variant fires at 4 s, when
// its window contains four samples.
TEST(Variants, EngineEvaluatesVariant) {
  ShardForTest shard(
      SetOf("jobs: [{match: {job: job}, rules: {pack/g/Sum: {window: 4, gpus: '1'}}}]"));
  FeedSecond(&shard, "s", kGpus, 1, 1, 1);
  FeedSecond(&shard, "s", kGpus, 2, 1, 1);
  shard.Restart();
  FeedSecond(&shard, "s", kGpus, 3, 1, 1);
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.found Sum")));
  FeedSecond(&shard, "s", kGpus, 4, 1, 1);
  FeedSecond(&shard, "s", kGpus, 5, 1, 1);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Sum"));
}

TEST(Variants, LateLabelSelectsAnotherVariant) {
  ShardForTest shard(
      SetOf("jobs: [{match: {team: vision}, rules: {pack/g/Sum: {window: 4, gpus: '1'}}}]"));
  for (int at = 1; at <= 6; ++at) FeedSecond(&shard, "s", kGpus, at, 1, 1);
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.found Sum")));
  Batch batch;
  batch.source = "s";
  JobEvent& event = batch.events.emplace_back();
  event.kind = JobEvent::Kind::kStarted;
  event.time = EventTime::FromNs(ShardForTest::At(6));
  event.labels = {{"team", "vision"}};
  shard.Feed(batch, 7);
  for (int at = 8; at <= 13; ++at) FeedSecond(&shard, "s", kGpus, at, 1, 1);
  EXPECT_THAT(shard.Events(), Contains("io.pitwall.issue.found Sum"));
  shard.Restart();
  FeedSecond(&shard, "s", kGpus, 14, 1, 1);
  EXPECT_THAT(shard.Events(), Not(Contains("io.pitwall.issue.resolved Sum")));
}

}  // namespace
}  // namespace pitwall::engine
