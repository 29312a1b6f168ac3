#include "tests/telemetry_script/scripted_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/telemetry_codec.h"
#include "services/io/topics.h"

namespace pitwall::telemetry_script {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kZero = 1'767'225'600 * kNanosPerSecond;

double SecondsOf(int64_t ns) { return static_cast<double>(ns - kZero) / kNanosPerSecond; }

class ScriptedSourcesTest : public ::testing::Test {
 protected:
  // Decodes the only record of a script.
  const Batch& BatchOf(std::string_view script) {
    records_ = sources_.Play(script, kZero);
    EXPECT_THAT(records_, SizeIs(1));
    return Decoded(records_[0]);
  }
  const Batch& Decoded(const ScriptRecord& record) {
    const auto decoded = decoder_.Decode(record.value);
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_NE(decoded->batch, nullptr);
    return *decoded->batch;
  }
  // Formats each record as "<arrival> <source>/<boot> #<sequence> to <promise>", or as "<arrival>
  // owner".
  std::vector<std::string> Lines(std::string_view script) {
    std::vector<std::string> lines;
    for (const ScriptRecord& record : sources_.Play(script, kZero)) {
      if (record.key == kControlKey) {
        lines.push_back(Cat(SecondsOf(record.append_time_ns), " owner"));
        continue;
      }
      const Batch& batch = Decoded(record);
      lines.push_back(Cat(SecondsOf(record.append_time_ns), " ", batch.source, "/", batch.boot_id,
                          " #", batch.sequence, " to ", SecondsOf(batch.promise.ns())));
    }
    return lines;
  }

  ScriptedSources sources_;
  codec::BatchDecoder decoder_;
  std::vector<ScriptRecord> records_;
};

TEST_F(ScriptedSourcesTest, StepHasRowPromiseAndMode) {
  const Batch& batch = BatchOf("rank-1@n(attempt=4) steps 7 loss=0.5 other{}=2 @3s");
  EXPECT_EQ(batch.job, "job");
  EXPECT_EQ(batch.info.kind, SourceKind::kRank);
  EXPECT_EQ(batch.info.rank, 1);
  EXPECT_EQ(batch.info.node, "n");
  EXPECT_EQ(batch.info.attempt, 4U);
  EXPECT_EQ(batch.info.start.ns(), kZero);
  EXPECT_THAT(batch.info.step_modes, ElementsAre("train"));
  ASSERT_THAT(batch.schemas, SizeIs(1));
  std::vector<std::string> series;
  for (const SeriesDescriptor& descriptor : batch.schemas[0]->series)
    series.push_back(descriptor.labels.ToString());
  EXPECT_THAT(series, ElementsAre("train_step{rank=\"1\"}", "loss{rank=\"1\"}", "other"));
  ASSERT_THAT(batch.frames, SizeIs(1));
  EXPECT_EQ(batch.frames[0].mode, "train");
  EXPECT_THAT(batch.frames[0].times, ElementsAre(kZero + 3 * kNanosPerSecond));
  EXPECT_THAT(batch.frames[0].steps, ElementsAre(7));
  EXPECT_THAT(batch.frames[0].values, ElementsAre(7, 0.5, 2));
  ASSERT_THAT(batch.step_promises, SizeIs(1));
  EXPECT_EQ(batch.step_promises[0].step, 7);
}

TEST_F(ScriptedSourcesTest, SourcesInterleaveInOrderOfTimeAndStatement) {
  EXPECT_THAT(
      Lines("rank-0..1 steps 1..2 @1s; n beats @1s..2s; owner ticks @1s..2s"),
      ElementsAre("1 rank-0/boot #1 to 1", "1 rank-1/boot #1 to 1", "1 n/boot #1 to 1", "1 owner",
                  "2 rank-0/boot #2 to 2", "2 rank-1/boot #2 to 2", "2 n/boot #2 to 2", "2 owner"));
}

TEST_F(ScriptedSourcesTest, StateLastsAcrossScripts) {
  EXPECT_THAT(Lines("a(boot=one) beats @1s"), ElementsAre("1 a/one #1 to 1"));
  EXPECT_THAT(Lines("a beats @2s"), ElementsAre("2 a/one #2 to 2"));
  EXPECT_EQ(sources_.NextSequence("job", "a", "one"), 3U);
  EXPECT_THAT(Lines("a(boot=two) beats @3s"), ElementsAre("3 a/two #1 to 3"));
  EXPECT_EQ(BatchOf("a beats @4s").info.start.ns(), kZero + 3 * kNanosPerSecond)
      << "a later boot starts with its first batch";
  EXPECT_EQ(BatchOf("other/a beats @4s").sequence, 1U);
}

TEST_F(ScriptedSourcesTest, DeliveryMayBeLateOrRepeated) {
  EXPECT_THAT(Lines("a beats @1s..2s arrives 9s; b beats @1s late 3s; c beats @1s again 5s"),
              ElementsAre("1 c/boot #1 to 1", "4 b/boot #1 to 1", "5 c/boot #1 to 1",
                          "9 a/boot #1 to 1", "9 a/boot #2 to 2"));
  EXPECT_THAT(Lines("owner ticks 3 @9s; owner starts @9s"),
              ElementsAre("9 owner", "9 owner", "9 owner", "9 owner"));
}

TEST_F(ScriptedSourcesTest, WrongClockShiftsAllTimesOfSource) {
  const Batch& batch = BatchOf("a(clock_error=-1h) sends m=1 @2s");
  EXPECT_EQ(SecondsOf(batch.promise.ns()), -3598);
  EXPECT_EQ(SecondsOf(batch.frames[0].times[0]), -3598);
  EXPECT_EQ(SecondsOf(records_[0].append_time_ns), 2);
}

TEST_F(ScriptedSourcesTest, RowsMayShareBatch) {
  const auto records = sources_.Play("a sends m=1 @1s..2.5s every 500ms batch 3", kZero);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(Decoded(records[0]).frames[0].times, SizeIs(3));
  EXPECT_EQ(SecondsOf(Decoded(records[0]).promise.ns()), 2);
  EXPECT_THAT(Decoded(records[1]).frames[0].times, SizeIs(1));
}

TEST_F(ScriptedSourcesTest, LostRankNamesItsBoot) {
  const Batch& batch = BatchOf("rank-2(boot=b) lost signal=9 @10.5s");
  ASSERT_THAT(batch.events, SizeIs(1));
  const RankLost expected{.rank = 2, .source = "rank-2", .boot_id = "b", .signal = 9};
  EXPECT_EQ(batch.events[0].rank_lost, expected);
  EXPECT_EQ(SecondsOf(batch.events[0].time.ns()), 10.5);
}

TEST_F(ScriptedSourcesTest, ForeignSourceDoesNotPromise) {
  EXPECT_EQ(BatchOf("foreign:otlp sends m=1 @1s").promise.ns(), 0);
  EXPECT_EQ(SecondsOf(BatchOf("a starts @1s promise 4s").promise.ns()), 4);
  EXPECT_THAT(BatchOf("a sends m=1 @5s without-schema").schemas, SizeIs(0));
}

TEST_F(ScriptedSourcesTest, InvalidScript_IsError) {
  const auto records = sources_.Expand("a beats @1", kZero);
  ASSERT_FALSE(records.ok());
  EXPECT_THAT(std::string(records.status().message()), HasSubstr("script:1:10: time must be"));
}

}  // namespace
}  // namespace pitwall::telemetry_script
