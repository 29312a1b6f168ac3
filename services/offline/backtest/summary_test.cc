#include "services/offline/backtest/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/plan/baseline.h"
#include "services/base/text/strings.h"

namespace pitwall::offline {
namespace {

using ::testing::HasSubstr;

const ClockSpec kTime;
const ClockSpec kTrain{.step = true, .mode = "train"};

engine::JobIdentity Job(std::string_view id, std::string_view name = "") {
  engine::JobIdentity job;
  job.id = id;
  job.name = name;
  return job;
}

EvalTime AtStep(int64_t step) {
  return {.position = PositionOf(Step(step)),
          .time = EventTime::FromNs(step * 1'000'000),
          .step = Step(step)};
}

EvalTime AtTime(int64_t time_ns) {
  return {.position = Position::FromNs(time_ns), .time = EventTime::FromNs(time_ns)};
}

void Record(Summary* summary, int64_t step, double value, std::string_view job = "j") {
  summary->Recorded(Job(job), kTrain, AtStep(step),
                    Labels({{kMetricName, "summary:loss"}, {"mode", "train"}, {"rank", "0"}}),
                    value);
}

TEST(Summary, TextIsAcceptedByParseBaseline) {
  Summary summary("");
  engine::JobIdentity job = Job("resnet@1", "resnet");
  job.labels = {{"config_hash", "7f3a"}, {"team", "vision"}};
  const auto record = [&](const ClockSpec& clock, const Labels& labels, const EvalTime& at,
                          double value) { summary.Recorded(job, clock, at, labels, value); };
  const Labels loss({{kMetricName, "summary:loss"}, {"mode", "train"}, {"rank", "0"}});
  record(kTrain, loss, AtStep(20), 1.5);
  record(kTrain, loss, AtStep(10), 2.123456789);
  record(kTrain, loss, AtStep(20), 1.25);  // the next attempt repeats the step
  record(kTrain, Labels({{kMetricName, "summary:run:rate"}}), AtStep(10), 1);
  record(kTrain, Labels({{kMetricName, "summary:run:rate"}}), AtStep(11), 3);
  record(kTime, Labels({{kMetricName, "summary:power"}, {"node", "a\"b"}}), AtTime(1'000'000'000),
         7);
  record(kTime, Labels({{kMetricName, "summary:power"}, {"node", "a\"b"}}), AtTime(2'500'000'000),
         8);
  record(kTrain, Labels({{kMetricName, "summary:run:infinite"}}), AtStep(11), INFINITY);
  record(kTrain, Labels({{kMetricName, "summary:"}}), AtStep(11), 1);
  record(kTime, Labels({{kMetricName, "other"}}), AtTime(9'000'000'000), 8);
  const auto text = summary.Text({});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, R"(# What `pitwall baseline` kept of a finished job.
run: "resnet@1"
job: "resnet@1"
ended: 2.500
match: {"job": "resnet", "config_hash": "7f3a"}
series:
- {name: "power", labels: {"node": "a\"b"}, value: 8}
- {name: "run:rate", labels: {}, value: 3}
- {name: "loss", mode: "train", labels: {"rank": "0"}, points: "10:2.12345679 20:1.25"}
)");
  lang::Diagnostics diagnostics;
  const plan::BaselinePtr read = plan::ParseBaseline("run.yaml", *text, &diagnostics);
  EXPECT_EQ(diagnostics.ToString(), "");
  EXPECT_TRUE(read->match.Matches("x", "resnet", Labels({{"config_hash", "7f3a"}})));
  ASSERT_EQ(read->values.size(), 2U);
  EXPECT_EQ(read->values[0].first.ToString(), "baseline_power{node=\"a\\\"b\",run=\"resnet@1\"}");
  ASSERT_NE(read->StepsOf("train"), nullptr);
  EXPECT_EQ(read->StepsOf("train")->points.size(), 2U);
}

TEST(Summary, ThinsPointsUntilTextFits) {
  Summary summary("");
  for (int step = 0; step < 10'000; ++step) Record(&summary, step, step);
  const auto whole = summary.Text({.max_bytes = 1 << 20});
  ASSERT_TRUE(whole.ok());
  EXPECT_THAT(*whole, HasSubstr(" 9999:9999\""));
  const auto thin = summary.Text({.max_bytes = 4096});
  ASSERT_TRUE(thin.ok());
  EXPECT_LE(thin->size(), 4096U);
  EXPECT_THAT(*thin, HasSubstr("points: \"0:0 32:32 64:64 "));
  // A series with few points keeps all of them.
  for (const int step : {7, 5007})
    summary.Recorded(Job("j"), kTrain, AtStep(step),
                     Labels({{kMetricName, "summary:rare"}, {"mode", "train"}}), 1);
  const auto both = summary.Text({.max_bytes = 4096});
  ASSERT_TRUE(both.ok());
  EXPECT_THAT(*both, HasSubstr("points: \"7:1 5007:1\""));
  EXPECT_THAT(*both, HasSubstr("points: \"0:0 32:32 "));
  const auto never = summary.Text({.max_bytes = 100});
  EXPECT_TRUE(absl::IsResourceExhausted(never.status())) << never.status();
}

TEST(Summary, SummarizesSelectedJob) {
  Summary any("");
  EXPECT_THAT(std::string(any.Text({}).status().message()),
              HasSubstr("no job recorded any series named summary:*"));
  Record(&any, 1, 1, "a");
  EXPECT_TRUE(any.Text({}).ok());
  Record(&any, 1, 1, "b");
  EXPECT_THAT(std::string(any.Text({}).status().message()),
              HasSubstr("several jobs, including \"a\" and \"b\""));
  Summary second("b");
  Record(&second, 1, 1, "a");
  EXPECT_THAT(std::string(second.Text({}).status().message()), HasSubstr("job \"b\" recorded"));
  Record(&second, 1, 1, "b");
  const auto text = second.Text({.run = "monday", .match = {{"team", "nlp*"}}});
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("run: \"monday\"\njob: \"b\"\n"));
  EXPECT_THAT(*text, HasSubstr("match: {\"team\": \"nlp*\"}\n"));
}

}  // namespace
}  // namespace pitwall::offline
