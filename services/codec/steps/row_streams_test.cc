#include "services/codec/steps/row_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/steps/step_series.h"
#include "services/model/value.h"

namespace pitwall::steps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMs = 1'000'000;

// Flushes a StepSeries and reads its frames with the schemas received so far, as the engine does.
struct Reader {
  explicit Reader(const Options& options = {}) : series(options) {}

  // Returns the samples of logged series per step. Every frame must have a known schema.
  std::map<int64_t, std::map<std::string, double>> Flush(int64_t promise_ms, bool repeat = false) {
    Batch batch;
    series.Flush(promise_ms * kMs, repeat, &batch);
    announced.clear();
    for (const SharedSchema& schema : batch.schemas) {
      announced.push_back(schema->stream);
      schemas[schema->id] = *schema;
      columns[schema->stream] = schema->series.size();
    }
    std::map<int64_t, std::map<std::string, double>> out;
    cells = 0;
    for (const Frame& frame : batch.frames) {
      const auto schema = schemas.find(frame.schema_id);
      if (schema == schemas.end()) {
        ADD_FAILURE() << "a frame before its schema";
        continue;
      }
      const size_t width = schema->second.series.size();
      cells += frame.values.size();
      for (size_t i = 0; i < frame.values.size(); ++i) {
        if (IsMissing(frame.values[i]) || frame.steps.empty()) continue;
        const Labels& labels = schema->second.series[i % width].labels;
        out[frame.steps[i / width]][Cat(labels.Get(kMetricName), "/", labels.Get("tensor"))] =
            frame.values[i];
      }
    }
    return out;
  }

  void Tensor(std::string_view metric, int tensor, double value, int64_t step, int64_t ms) {
    series.AddValue(
        {std::string(metric), {{"tensor", Cat("t", tensor)}}, value, ms * kMs, step, "train"});
  }
  void Step(int64_t step, int64_t start_ms, int64_t end_ms) {
    series.AddSpan({Span::Kind::kStep, "step", EventTime::FromNs(start_ms * kMs),
                    EventTime::FromNs(end_ms * kMs), step, "train"});
  }
  uint64_t dropped(Drop drop) const { return series.drops()[static_cast<size_t>(drop)]; }

  StepSeries series;
  std::map<uint64_t, Schema> schemas;
  std::map<uint32_t, size_t> columns;  // number of columns by stream
  std::vector<uint32_t> announced;     // streams whose schema was in the last flush
  size_t cells = 0;                    // number of cells in the frames of the last flush
};

TEST(RowStreams, StepWithoutTensorsHasNoTensorCells) {
  Reader reader;
  for (int tensor = 0; tensor < 500; ++tensor) {
    reader.Tensor("train_tensor_mean", tensor, tensor, 0, 5);
    reader.Tensor("train_tensor_std", tensor, -tensor, 0, 5);
  }
  reader.series.AddValue({"train_loss", {}, 7, 6 * kMs, 0, "train"});
  reader.Step(0, 0, 10);
  const auto saved = reader.Flush(20);
  EXPECT_EQ(saved.at(0).size(), 1000u + 3);  // loss, train_step, and its duration
  EXPECT_EQ(saved.at(0).at("train_tensor_mean/t499"), 499);
  EXPECT_EQ(saved.at(0).at("train_tensor_std/t17"), -17);
  EXPECT_EQ(saved.at(0).at("train_loss/"), 7);
  EXPECT_THAT(reader.announced, ElementsAre(1, 3, 4));
  EXPECT_EQ(reader.cells, 3u + 500 + 500);

  reader.series.AddValue({"train_loss", {}, 6, 26 * kMs, 1, "train"});
  reader.Step(1, 10, 30);
  EXPECT_EQ(reader.Flush(40).at(1).at("train_loss/"), 6);
  EXPECT_EQ(reader.cells, 3u);
}

TEST(RowStreams, WideSchemaIsRepeatedAtNextUse) {
  Reader reader;
  reader.Tensor("train_tensor_mean", 0, 1, 0, 5);
  reader.Step(0, 0, 10);
  reader.Flush(20);
  reader.Step(1, 10, 30);
  reader.Flush(40, true);
  EXPECT_THAT(reader.announced, ElementsAre(1));
  reader.Step(2, 30, 50);
  reader.Flush(60);
  EXPECT_THAT(reader.announced, IsEmpty());
  reader.Tensor("train_tensor_mean", 0, 2, 3, 65);
  reader.Step(3, 50, 70);
  EXPECT_EQ(reader.Flush(80).at(3).at("train_tensor_mean/t0"), 2);
  EXPECT_THAT(reader.announced, ElementsAre(3));
}

// This test logs one saved step of a model with 200 tensors, with 25 statistics and a histogram of
// 21 buckets per tensor. The values arrive in several updates while the step runs.
TEST(RowStreams, StepWith200TensorsFits) {
  Reader reader;
  size_t given = 0;
  for (int tensor = 0; tensor < 200; ++tensor) {
    for (int statistic = 0; statistic < 25; ++statistic, ++given)
      reader.Tensor(Cat("train_tensor_s", statistic), tensor, statistic, 500, 1 + tensor / 50);
    for (int bucket = 0; bucket < 21; ++bucket, ++given) {
      reader.series.AddValue({"train_tensor_histogram_bucket",
                              {{"tensor", Cat("t", tensor, "_", bucket)}, {"le", Cat(bucket)}},
                              1.0 * bucket,
                              (1 + tensor / 50) * kMs,
                              500,
                              "train"});
    }
    reader.series.SetCurrent("forward", kMs, 500, "train");
    if (tensor % 50 == 49) reader.Flush(1 + tensor / 50);
  }
  reader.Step(500, 0, 10);
  const auto saved = reader.Flush(20);
  EXPECT_EQ(saved.at(500).size(), given + 2);
  EXPECT_EQ(reader.dropped(Drop::kTooManyMetrics) + reader.dropped(Drop::kTooManyCells), 0u);
  // The streams are steps, phase states, one per statistic, and five for 4,200 buckets.
  EXPECT_EQ(reader.columns.size(), 2 + 25u + 5);
  for (const auto& [stream, columns] : reader.columns) EXPECT_LE(columns, kMaxWideColumns);
}

TEST(RowStreams, SeriesAndStreamsAreLimited) {
  Reader reader;
  const size_t limit = Options{}.max_metrics;
  // There are 60 metrics, more than there are streams.
  size_t given = 0;
  for (int tensor = 0; given < limit + 100; ++tensor) {
    for (int metric = 0; metric < 60; ++metric, ++given)
      reader.Tensor(Cat("train_m", metric), tensor, metric, 0, 5);
  }
  reader.Step(0, 0, 10);
  const auto saved = reader.Flush(20);
  EXPECT_EQ(saved.at(0).size(), limit + 2);
  EXPECT_EQ(saved.at(0).at("train_m59/t3"), 59);
  EXPECT_EQ(reader.dropped(Drop::kTooManyMetrics), given - limit);
  EXPECT_EQ(reader.columns.size(), 1 + kMaxWideStreams);

  Options few;
  few.max_cells = 2500;
  Reader small(few);
  for (int tensor = 0; tensor < 1000; ++tensor) {
    for (int metric = 0; metric < 3; ++metric)
      small.Tensor(Cat("train_m", metric), tensor, 1, 0, 5);
  }
  small.Step(0, 0, 10);
  EXPECT_EQ(small.Flush(20).at(0).size(), 2000u + 2);
  EXPECT_EQ(small.dropped(Drop::kTooManyCells), 1u);
}

TEST(RowStreams, ManyUnlabeledValuesOverflowMainStream) {
  Reader reader;
  for (int metric = 0; metric < 1500; ++metric)
    reader.series.AddValue({Cat("train_m", metric), {}, 1, 5 * kMs, 0, "train"});
  reader.Step(0, 0, 10);
  EXPECT_EQ(reader.Flush(20).at(0).size(), 1500u + 2);
  for (const auto& [stream, columns] : reader.columns) EXPECT_LE(columns, kMaxWideColumns);
}

}  // namespace
}  // namespace pitwall::steps
