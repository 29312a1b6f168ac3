#include "tests/telemetry_script/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/base/check.h"
#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::telemetry_script {
namespace {

using ::testing::ElementsAre;

std::vector<Statement> Parsed(std::string_view text) {
  auto statements = ParseScript(text);
  PITWALL_CHECK_OK(statements.status());
  return *std::move(statements);
}
std::string ErrorOf(std::string_view text) {
  const auto statements = ParseScript(text);
  return statements.ok() ? "no error" : std::string(statements.status().message());
}
std::vector<std::string> IdsOf(const Statement& statement) {
  std::vector<std::string> ids;
  for (const SourceName& source : statement.sources)
    ids.push_back(source.job.empty() ? source.id : Cat(source.job, "/", source.id));
  return ids;
}

TEST(Script, StatementsEndAtLineOrSemicolon) {
  EXPECT_EQ(Parsed("").size(), 0U);
  EXPECT_EQ(Parsed("\n  # only a comment; not a statement\n ; ;\n").size(), 0U);
  const auto statements = Parsed("a beats @1s; b beats @2s  # the second\n\n  c beats @3s");
  ASSERT_EQ(statements.size(), 3U);
  EXPECT_THAT(IdsOf(statements[1]), ElementsAre("b"));
  EXPECT_EQ(statements[2].first_ns, 3 * kNanosPerSecond);
}

TEST(Script, NameDeterminesKindRankAndNode) {
  const auto sources =
      Parsed("rank-3@n1,collector@n2,job-2/gpu-node,foreign:otlp@x beats")[0].sources;
  ASSERT_EQ(sources.size(), 4U);
  EXPECT_EQ(sources[0].kind, SourceKind::kRank);
  EXPECT_EQ(sources[0].id, "rank-3@n1");
  EXPECT_EQ(sources[0].rank, 3);
  EXPECT_EQ(sources[0].node, "n1");
  EXPECT_EQ(sources[1].kind, SourceKind::kNode);
  EXPECT_EQ(sources[1].node, "n2");
  EXPECT_EQ(sources[2].job, "job-2");
  EXPECT_EQ(sources[2].id, "gpu-node");
  EXPECT_EQ(sources[3].kind, SourceKind::kForeign);
  EXPECT_EQ(sources[3].id, "otlp@x");
}

TEST(Script, RangeOfSourcesIsExpanded) {
  EXPECT_THAT(IdsOf(Parsed("rank-0..2,j/node-4..5,collector@8..9 beats")[0]),
              ElementsAre("rank-0", "rank-1", "rank-2", "j/node-4", "j/node-5", "collector@8",
                          "collector@9"));
}

TEST(Script, StepsHaveModeValuesAndInterval) {
  const Statement steps =
      Parsed(R"(rank-0 steps 5..9 of eval loss=0.5 m{a="b c",d=e}=NaN @10.5s every 250ms)")[0];
  EXPECT_EQ(steps.action, Action::kStep);
  EXPECT_EQ(steps.first_step, 5);
  EXPECT_EQ(steps.mode, "eval");
  EXPECT_EQ(steps.first_ns, 10'500 * kNanosPerMilli);
  EXPECT_EQ(steps.last_ns, 11'500 * kNanosPerMilli);
  ASSERT_EQ(steps.values.size(), 2U);
  EXPECT_EQ(steps.values[0].metric, "loss");
  EXPECT_FALSE(steps.values[0].labels.has_value());
  EXPECT_EQ(steps.values[1].labels, Labels({{"a", "b c"}, {"d", "e"}}));
  EXPECT_NE(steps.values[1].value, steps.values[1].value);
}

TEST(Script, PropertiesAreOptionalAndTyped) {
  const SourceChange change =
      Parsed(
          "rank-0(boot=two start=-1m attempt=7 node=n declared_owner=uid:1 modes=train,eval "
          "clock_error=45s labels={rank=0}) beats")[0]
          .change;
  EXPECT_EQ(change.boot, "two");
  EXPECT_EQ(change.start_ns, -60 * kNanosPerSecond);
  EXPECT_EQ(change.attempt, 7U);
  EXPECT_EQ(change.node, "n");
  EXPECT_EQ(change.owner, "uid:1");
  EXPECT_TRUE(change.owner_declared);
  EXPECT_THAT(*change.modes, ElementsAre("train", "eval"));
  EXPECT_EQ(change.clock_error_ns, 45 * kNanosPerSecond);
  EXPECT_EQ(change.labels, Labels({{"rank", "0"}}));
  EXPECT_EQ(Parsed("a(start=unix:-5) beats")[0].change.start_unix_ns, -5);
  EXPECT_FALSE(Parsed("a beats")[0].change.boot.has_value());
}

TEST(Script, EventsHaveFieldsAndLabels) {
  const auto statements = Parsed(R"(rank-1 lost signal=9 oom_killed=1 exception="a \"b\"" @1s
                                    rank-1 lost exit_code=3 reported=1 @1s
                                    x ends stopped stopped_by="rule p/g/a" @2s
                                    x notice gpu_split_unknown hides=m,n @3s
                                    x starts tier=gold; x launcher-gone; x goodbye)");
  EXPECT_EQ(statements[0].event.rank_lost.signal, 9);
  EXPECT_TRUE(statements[0].event.rank_lost.oom_killed);
  EXPECT_EQ(statements[0].event.rank_lost.exception, "a \"b\"");
  EXPECT_EQ(statements[1].event.rank_lost.exit_code, 3);
  EXPECT_TRUE(ReportedFailure(statements[1].event));
  EXPECT_EQ(statements[2].event.reason, "stopped");
  EXPECT_THAT(statements[2].event.labels, ElementsAre(Label{"stopped_by", "rule p/g/a"}));
  EXPECT_THAT(statements[3].event.series, ElementsAre("m", "n"));
  EXPECT_THAT(statements[4].event.labels, ElementsAre(Label{"tier", "gold"}));
  EXPECT_EQ(statements[5].event.kind, JobEvent::Kind::kLauncherGone);
  EXPECT_EQ(statements[6].action, Action::kGoodbye);
}

TEST(Script, ErrorsNameLineColumnAndCause) {
  const std::pair<const char*, const char*> errors[] = {
      {"rank-0 walks @1s",
       "script:1:8: action must be steps, sends, beats, goodbye, starts, ends, notice, lost, or "
       "launcher-gone (got \"walks\")"},
      {"a beats @1s\n  b beats @5", "script:2:12: time must be a duration like 500ms (got \"5\")"},
      {"rank-0 steps 9..1 @1s", "script:1:14: steps must not decrease (got 9..1)"},
      {"rank-0 steps x @1s", "script:1:14: steps must be an integer (got \"x\")"},
      {"rank-0 steps 1..3 @1s..3s", "script:1:20: steps need only the time of the first step"},
      {"rank-0 lost @1s..3s", "script:1:14: this action happens at one time"},
      {"rank-0 lost color=3 @1s",
       "script:1:13: field must be signal, exit_code, oom_killed, reported, or exception (got "
       "\"color\")"},
      {"a sends @1s", "script:1:3: sends needs a value like m=1"},
      {"a sends m @1s", "script:1:10: expected '='"},
      {"a sends m=x @1s", "script:1:11: value must be a number (got \"x\")"},
      {"a sends m{b=c=1 @1s", "script:1:17: expected ','"},
      {"rank-x beats", "script:1:1: rank must be a number (got \"rank-x\")"},
      {"rank-3..1 beats", "script:1:1: source must be a range like rank-0..3 (got \"rank-3..1\")"},
      {"a(boot=b beats", "script:1:15: expected '='"},
      {"a(color=b) beats",
       "script:1:3: property must be boot, start, attempt, node, owner, "
       "declared_owner, modes, clock_error, or labels (got \"color\")"},
      {"a beats @1s every 0s", "script:1:19: interval must be positive"},
      {"a beats @1s sometimes",
       "script:1:13: modifier must be every, late, arrives, again, "
       "promise, batch, or without-schema (got \"sometimes\")"},
      {"owner sleeps",
       "script:1:7: action of the owner must be ticks, starts, or loads (got \"sleeps\")"},
      {"x ends completed by=\"rule", "script:1:21: value has no closing quote"},
      {"a beats @0s..9000000s every 1ms", "script:1:29: one statement has at most 1048576 times"},
  };
  for (const auto& [script, error] : errors) EXPECT_EQ(ErrorOf(script), error) << script;
}

}  // namespace
}  // namespace pitwall::telemetry_script
