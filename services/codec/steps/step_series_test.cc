#include "services/codec/steps/step_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/model/value.h"

namespace pitwall::steps {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kMs = 1'000'000;

EventTime At(int64_t ns) { return EventTime::FromNs(ns); }

Span Step(int64_t step, int64_t start_ms, int64_t end_ms, std::string mode = "train") {
  return {Span::Kind::kStep, "step", At(start_ms * kMs), At(end_ms * kMs), step, std::move(mode)};
}
Span Phase(std::string name, int64_t start_ms, int64_t end_ms, int64_t step,
           std::string mode = "train") {
  return {Span::Kind::kPhase, std::move(name), At(start_ms * kMs), At(end_ms * kMs), step,
          std::move(mode)};
}
LoggedValue Value(std::string metric, double value, int64_t ms, int64_t step,
                  std::string mode = "train") {
  return {std::move(metric), {}, value, ms * kMs, step, std::move(mode)};
}

// Flushes into batches and keeps the schemas, as the processor does.
class Feed {
 public:
  explicit Feed(Options options = MakeOptions()) : series(options) {}
  static Options MakeOptions() {
    Options options;
    options.rank = 3;
    return options;
  }

  // Returns every sample of the flush as `time[/step mode] series=value`. Phase states are returned
  // separately.
  std::vector<std::string> Flush(int64_t promise_ms, bool repeat = false) {
    Batch batch;
    series.Flush(promise_ms * kMs, repeat, &batch);
    return Read(batch, promise_ms);
  }
  std::vector<std::string> Finish(int64_t promise_ms) {
    Batch batch;
    series.Finish(promise_ms * kMs, &batch);
    return Read(batch, promise_ms);
  }

  StepSeries series;
  std::vector<std::string> states;
  std::map<uint64_t, Schema> schemas;
  size_t new_schemas = 0;
  size_t frames = 0;

 private:
  std::vector<std::string> Read(const Batch& batch, int64_t promise_ms) {
    new_schemas = batch.schemas.size();
    for (const Schema& schema : batch.schemas) {
      EXPECT_EQ(schema.id, SchemaId(schema.stream, schema.series));
      schemas[schema.id] = schema;
    }
    frames = batch.frames.size();
    states.clear();
    std::vector<std::string> samples;
    for (const Frame& frame : batch.frames) {
      EXPECT_TRUE(schemas.contains(frame.schema_id));
      const Schema& schema = schemas[frame.schema_id];
      EXPECT_EQ(frame.values.size(), frame.times.size() * schema.series.size());
      EXPECT_EQ(frame.steps.empty(), frame.mode.empty());
      for (size_t t = 0; t < frame.times.size(); ++t) {
        EXPECT_TRUE(t == 0 || frame.times[t] > frame.times[t - 1]);
        EXPECT_GT(frame.times[t], floor_ns_);
        std::string at = FormatDouble(static_cast<double>(frame.times[t]) / kMs);
        if (!frame.steps.empty()) CatTo(at, "/", frame.steps[t], frame.mode);
        for (size_t c = 0; c < schema.series.size(); ++c) {
          const double value = frame.values[t * schema.series.size() + c];
          if (IsMissing(value)) continue;
          const Labels& labels = schema.series[c].labels;
          EXPECT_EQ(labels.Get("rank"), "3");
          std::string name(labels.Name());
          if (name == "train_phase_state") {
            EXPECT_TRUE(frame.steps.empty());
            if (value == 1) states.push_back(Cat(at, " ", labels.Get("phase")));
            if (value != 0 && value != 1) ADD_FAILURE() << value;
            continue;
          }
          if (labels.Has("phase")) CatTo(name, ":", labels.Get("phase"));
          if (labels.Has("mode")) CatTo(name, ":", labels.Get("mode"));
          samples.push_back(Cat(at, " ", name, "=", FormatDouble(value)));
        }
        if (schema.stream == 2 &&
            std::all_of(
                frame.values.begin() + static_cast<ptrdiff_t>(t * schema.series.size()),
                frame.values.begin() + static_cast<ptrdiff_t>((t + 1) * schema.series.size()),
                [](double v) { return v == 0; })) {
          states.push_back(at + " none");
        }
      }
    }
    floor_ns_ = std::max(floor_ns_, promise_ms * kMs);
    return samples;
  }

  int64_t floor_ns_ = INT64_MIN;
};

uint64_t Dropped(const Feed& feed, Drop drop) {
  return feed.series.drops()[static_cast<size_t>(drop)];
}

// An earlier StepSeries promised times up to 500, but the new one is unaware of that promise.
TEST(StepSeries, ResumedSeriesEmitsNothingBeforeEarlierPromise) {
  Options options = Feed::MakeOptions();
  options.promised_ns = 100 * kMs;
  options.world_size = 8;
  options.resumed = true;
  {  // after a pause in which a step ended
    Feed feed(options);
    feed.series.AddSpan(Phase("forward", 300, 520, 7));
    feed.series.AddSpan(Phase("backward", 520, 580, 7));
    feed.series.AddSpan(Step(7, 300, 600));
    feed.series.AddValue(Value("train_loss", 2, 550, 7));
    feed.series.SetCurrent("forward", 610 * kMs, 8, "train");
    EXPECT_THAT(feed.Flush(620), Contains("600/7train train_step=7"));
    EXPECT_THAT(feed.states, ElementsAre("520 backward", "580 none", "610 forward"));
  }
  {  // during a hang
    Feed feed(options);
    feed.series.SetCurrent("collective", 200 * kMs, 7, "train");
    EXPECT_THAT(feed.Flush(620), IsEmpty());
    EXPECT_THAT(feed.states, ElementsAre("620.000001 collective"));
    feed.Flush(20'000);
    EXPECT_THAT(feed.states, ElementsAre("20000 collective"));
  }
}

TEST(StepSeries, EmitsStepWithPhasesAndValues) {
  Feed feed;
  feed.series.AddSpan(Phase("dataloader", 0, 20, 5));
  feed.series.AddSpan(Phase("forward", 20, 50, 5));
  feed.series.AddSpan(Phase("forward", 60, 70, 5));
  feed.series.AddValue(Value("train_loss", 2.5, 65, 5));
  feed.series.AddValue(Value("train_loss", 2.25, 80, 5));  // the last value of a step wins
  feed.series.AddSpan(Step(5, 0, 100));
  EXPECT_THAT(feed.Flush(110),
              ElementsAre("100/5train train_step=5", "100/5train train_step_duration_seconds=0.1",
                          "100/5train train_phase_duration_seconds:dataloader=0.02",
                          "100/5train train_phase_duration_seconds:forward=0.04",
                          "100/5train train_loss:train=2.25"));
  EXPECT_THAT(feed.series.modes(), ElementsAre("train"));
  EXPECT_EQ(feed.new_schemas, 2u);
}

TEST(StepSeries, HoldsEarlierDataUntilStepEnds) {
  Feed feed;
  feed.series.AddSpan(Phase("forward", 0, 20, 5));
  feed.series.AddValue(Value("train_loss", 1, 10, 5));
  feed.series.SetCurrent("backward", 20 * kMs, 5, "train");
  EXPECT_THAT(feed.Flush(30), IsEmpty());
  EXPECT_THAT(feed.states, ElementsAre("0 forward", "20 backward"));
  feed.series.SetCurrent("backward", 20 * kMs, 5, "train");
  EXPECT_THAT(feed.Flush(1000), IsEmpty());
  EXPECT_THAT(feed.states, IsEmpty());
  feed.series.AddSpan(Phase("backward", 20, 1500, 5));
  feed.series.AddSpan(Step(5, 0, 1600));
  feed.series.SetCurrent("", 0, 6, "train");
  EXPECT_THAT(feed.Flush(2000),
              ElementsAre("1600/5train train_step=5", "1600/5train train_step_duration_seconds=1.6",
                          "1600/5train train_phase_duration_seconds:forward=0.02",
                          "1600/5train train_loss:train=1",
                          "1600/5train train_phase_duration_seconds:backward=1.48"));
  EXPECT_THAT(feed.states, ElementsAre("1500 none"));
}

TEST(StepSeries, MissingPhaseIsZeroOnlyIfModeHasIt) {
  Feed feed;
  feed.series.AddSpan(Phase("checkpoint", 0, 50, 1));
  feed.series.AddSpan(Step(1, 0, 100));
  feed.series.AddSpan(Step(2, 100, 200));
  feed.series.AddSpan(Step(0, 200, 250, "eval"));
  EXPECT_THAT(feed.Flush(300),
              ElementsAre("100/1train train_step=1", "100/1train train_step_duration_seconds=0.1",
                          "100/1train train_phase_duration_seconds:checkpoint=0.05",
                          "200/2train train_step=2", "200/2train train_step_duration_seconds=0.1",
                          "200/2train train_phase_duration_seconds:checkpoint=0",
                          "250/0eval train_step=0", "250/0eval train_step_duration_seconds=0.05"));
  EXPECT_THAT(feed.series.modes(), ElementsAre("eval", "train"));
}

TEST(StepSeries, EmitsValuesAndPhasesOutsideSteps) {
  Feed feed;
  feed.series.AddValue(Value("train_lr", 0.1, 10, kNoStep));
  feed.series.AddValue(Value("train_beta", 0.9, 10, kNoStep, ""));
  feed.series.AddSpan(Phase("checkpoint", 20, 50, kNoStep));
  // Values also arrive after their step's row was emitted, and for a step that never had a row.
  feed.series.AddSpan(Step(1, 0, 60));
  feed.series.AddValue(Value("train_loss", 5, 70, 1));
  feed.series.AddValue(Value("train_acc", 6, 80, 9, "eval"));
  EXPECT_THAT(feed.Flush(100),
              ElementsAre("10 train_lr:train=0.1", "10 train_beta=0.9",
                          "50 train_phase_duration_seconds:checkpoint=0.03",
                          "60/1train train_step=1", "60/1train train_step_duration_seconds=0.06",
                          "70/1train train_loss:train=5", "80/9eval train_acc:eval=6"));
  EXPECT_THAT(feed.series.modes(), ElementsAre("eval", "train"));
}

TEST(StepSeries, EvalInsideStepDoesNotEndStep) {
  Feed feed;
  feed.series.SetCurrent("forward", 0, 7, "train");
  feed.series.AddValue(Value("train_loss", 1, 5, 7));
  EXPECT_THAT(feed.Flush(10), IsEmpty());
  feed.series.SetCurrent("forward", 20 * kMs, 0, "eval");
  EXPECT_THAT(feed.Flush(30), IsEmpty());
  feed.series.AddSpan(Step(0, 20, 40, "eval"));
  feed.series.AddSpan(Step(7, 0, 50));
  feed.series.SetCurrent("", 0, kNoStep, "");
  EXPECT_THAT(feed.Flush(60),
              ElementsAre("40/0eval train_step=0", "40/0eval train_step_duration_seconds=0.02",
                          "50/7train train_step=7", "50/7train train_step_duration_seconds=0.05",
                          "50/7train train_loss:train=1"));
}

TEST(StepSeries, UnfinishedStepEmitsValuesAfterPromise) {
  Feed feed;
  feed.series.SetCurrent("", 0, 7, "train");
  feed.series.AddValue(Value("train_loss", 1, 5, 7));
  EXPECT_THAT(feed.Flush(10), IsEmpty());
  feed.series.SetCurrent("", 0, kNoStep, "");  // the step was abandoned
  EXPECT_THAT(feed.Flush(20), ElementsAre("10.000001/7train train_loss:train=1"));

  feed.series.SetCurrent("", 0, 8, "train");
  feed.series.AddValue(Value("train_loss", 2, 25, 8));
  EXPECT_THAT(feed.Flush(30), IsEmpty());
  feed.series.AddSpan(Step(9, 40, 50));  // step 8 was skipped
  feed.series.SetCurrent("", 0, kNoStep, "");
  EXPECT_THAT(feed.Flush(60),
              ElementsAre("30.000001/8train train_loss:train=2", "50/9train train_step=9",
                          "50/9train train_step_duration_seconds=0.01"));

  feed.series.SetCurrent("", 0, 10, "train");
  feed.series.AddValue(Value("train_loss", 3, 65, 10));
  EXPECT_THAT(feed.Flush(70), IsEmpty());
  EXPECT_THAT(feed.Finish(80), ElementsAre("70.000001/10train train_loss:train=3"));
}

TEST(StepSeries, RollbackInOneFlushKeepsBothStepsSeparate) {
  Feed feed;
  feed.series.AddSpan(Phase("forward", 0, 10, 5));
  feed.series.AddSpan(Step(5, 0, 20));
  feed.series.AddValue(Value("train_loss", 1, 15, 5));
  feed.series.AddSpan(Phase("forward", 30, 70, 5));
  feed.series.AddSpan(Step(5, 30, 90));
  feed.series.AddValue(Value("train_loss", 2, 80, 5));
  EXPECT_THAT(feed.Flush(100),
              ElementsAre("20/5train train_step=5", "20/5train train_step_duration_seconds=0.02",
                          "20/5train train_phase_duration_seconds:forward=0.01",
                          "20/5train train_loss:train=1", "90/5train train_step=5",
                          "90/5train train_step_duration_seconds=0.06",
                          "90/5train train_phase_duration_seconds:forward=0.04",
                          "90/5train train_loss:train=2"));
}

TEST(StepSeries, OrderWithinFlushDoesNotMatter) {
  const uint32_t seed = 11;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<Span> spans = {Phase("a", 0, 10, 1),    Phase("b", 10, 20, 1),        Step(1, 0, 25),
                             Phase("a", 25, 45, 2),   Phase("b", 45, 50, 2),        Step(2, 25, 60),
                             Step(0, 60, 70, "eval"), Phase("c", 60, 65, 0, "eval")};
  Feed first;
  for (const Span& span : spans) first.series.AddSpan(span);
  auto expected = first.Flush(100);
  const auto expected_states = first.states;
  std::sort(expected.begin(), expected.end());
  for (int i = 0; i < 20; ++i) {
    std::shuffle(spans.begin(), spans.end(), random);
    Feed feed;
    for (const Span& span : spans) feed.series.AddSpan(span);
    auto got = feed.Flush(100);
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, expected);
    EXPECT_EQ(feed.states, expected_states);
  }
}

TEST(StepSeries, RepeatsStateButSchemasOnlyIfNewOrRequested) {
  Feed feed;
  EXPECT_THAT(feed.Flush(1), IsEmpty());
  EXPECT_EQ(feed.new_schemas, 0u);
  int64_t last = 0;
  for (int64_t second = 1; second <= 60; ++second) {
    feed.series.SetCurrent("collective", 500 * kMs, 4, "train");
    feed.Flush(second * 1000, second % 5 == 0);
    EXPECT_EQ(feed.new_schemas, second == 1 ? 1u : second % 5 == 0 ? 2u : 0u);
    if (!feed.states.empty()) {
      EXPECT_LE(second - last, 15);
      last = second;
    }
  }
  EXPECT_GE(last, 50);
}

TEST(StepSeries, HangingStepIsRepeatedOnTimeClock) {
  Options options = Feed::MakeOptions();
  options.world_size = 8;
  Feed feed(options);
  EXPECT_THAT(feed.Flush(500), ElementsAre("500 train_world_size=8"));
  feed.series.AddSpan(Step(5, 0, 1000));
  EXPECT_THAT(feed.Flush(1500),
              ElementsAre("1000/5train train_step=5", "1000/5train train_step_duration_seconds=1",
                          "1000/5train train_world_size=8"));
  std::vector<std::string> samples;
  for (int64_t second = 2; second <= 40; ++second) {
    for (std::string& sample : feed.Flush(second * 1000)) samples.push_back(std::move(sample));
  }
  EXPECT_THAT(samples, ElementsAre("11000 train_step=5", "11000 train_world_size=8",
                                   "21000 train_step=5", "21000 train_world_size=8",
                                   "31000 train_step=5", "31000 train_world_size=8"));
  feed.series.AddSpan(Step(6, 1000, 40500));
  EXPECT_THAT(feed.Flush(41000), Contains("40500/6train train_step=6"));
}

TEST(StepSeries, GapsBetweenPhasesAreNotEmitted) {
  Feed feed;
  auto phase = [&feed](const char* name, int64_t start_us, int64_t end_us) {
    feed.series.AddSpan(
        {Span::Kind::kPhase, name, At(start_us * 1000), At(end_us * 1000), kNoStep, ""});
  };
  phase("a", 10'000, 20'000);
  phase("b", 20'010, 30'000);
  phase("b", 30'020, 40'000);  // the same phase again
  phase("c", 40'100, 40'200);  // too short itself
  phase("a", 50'000, 60'000);
  feed.Flush(70);
  EXPECT_THAT(feed.states, ElementsAre("10 a", "20.01 b", "40.2 none", "50 a", "60 none"));
}

TEST(StepSeries, DropsAndCountsDataOverLimits) {
  Options options = Feed::MakeOptions();
  options.max_phases = 2;
  options.max_metrics = 2;
  options.max_open_steps = 2;
  options.max_cells = 60;
  options.cells_per_frame = 12;
  Feed feed(options);
  for (int i = 0; i < 4; ++i) feed.series.AddSpan(Phase(Cat("p", i), i, i + 1, kNoStep));
  for (int i = 0; i < 4; ++i) feed.series.AddValue(Value(Cat("m", i), i, 10 + i, kNoStep));
  for (int i = 0; i < 4; ++i) feed.series.AddSpan(Phase("p0", 20 + i, 21 + i, i));
  feed.Flush(30);
  EXPECT_EQ(Dropped(feed, Drop::kTooManyPhases), 2u);
  EXPECT_EQ(Dropped(feed, Drop::kTooManyMetrics), 2u);
  EXPECT_EQ(Dropped(feed, Drop::kTooManyOpenSteps), 2u);
  // With six columns, ten rows fit, in frames of two rows each.
  for (int i = 0; i < 15; ++i) feed.series.AddValue(Value("m0", i, 40 + i, kNoStep));
  EXPECT_EQ(feed.Flush(100).size(), 10u);
  EXPECT_EQ(feed.frames, 5u);
  EXPECT_EQ(Dropped(feed, Drop::kTooManyCells), 5u);
}

TEST(StepSeries, RejectsInvalidNamesAndTimes) {
  Feed feed;
  EXPECT_THAT(feed.Flush(100), IsEmpty());
  feed.series.AddValue(Value("", 1, 110, kNoStep));
  feed.series.AddValue(Value("train_step", 1, 110, kNoStep));
  feed.series.AddValue(Value("a\nb", 1, 110, kNoStep));
  LoggedValue labeled = Value("m", 1, 110, kNoStep);
  labeled.labels = {{"__name__", "x"}};
  feed.series.AddValue(labeled);
  labeled.labels = {{"x", std::string(5000, 'x')}};
  feed.series.AddValue(labeled);
  EXPECT_EQ(Dropped(feed, Drop::kBadName), 5u);
  feed.series.AddValue(Value("m", 1, 100, kNoStep));
  feed.series.AddSpan(Step(1, 50, 90));
  EXPECT_THAT(feed.Flush(200), IsEmpty());
  EXPECT_EQ(Dropped(feed, Drop::kBehindPromise), 2u);
  feed.series.AddSpan(Phase("p", 60, 80, 1));  // the row of its step was already emitted
  EXPECT_EQ(Dropped(feed, Drop::kLatePhase), 1u);
  feed.series.AddSpan({Span::Kind::kPhase, "p", At(10), At(5), 1, "train"});
  feed.series.AddSpan({Span::Kind::kPhase, "p", EventTime::Min(), EventTime::Max(), 1, "train"});
  feed.series.AddSpan({Span::Kind::kOperator, "mm", At(10), At(50), 1, "train"});
  EXPECT_THAT(feed.Flush(300), IsEmpty());
}

TEST(StepSeries, ReservedLabelsWinAndMarkersBecomePlainNaN) {
  Feed feed;
  LoggedValue value = Value("train_loss", MissingValue(), 10, kNoStep);
  value.labels = {{"rank", "77"}, {"mode", "x"}, {"head", "a"}};
  feed.series.AddValue(value);
  value.value = StaleMarker();
  value.time_ns = 20 * kMs;
  feed.series.AddValue(value);
  EXPECT_THAT(feed.Flush(100), ElementsAre("10 train_loss:train=NaN", "20 train_loss:train=NaN"));
}

TEST(StepSeries, CountersHaveCounterKind) {
  Feed feed;
  feed.series.AddValue(Value("train_tokens_total", 5, 10, kNoStep));
  feed.Flush(100);
  ASSERT_EQ(feed.schemas.size(), 1u);
  EXPECT_EQ(feed.schemas.begin()->second.series.back().kind, SeriesKind::kCounter);
}

}  // namespace
}  // namespace pitwall::steps
