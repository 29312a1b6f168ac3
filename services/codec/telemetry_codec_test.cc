#include "services/codec/telemetry_codec.h"
#include "services/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <limits>
#include <random>

#include "pitwall/telemetry/v1/telemetry.pb.h"
#include "services/model/value.h"

namespace pitwall::codec {
namespace {

namespace pb = ::pitwall::telemetry::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

EventTime At(int64_t ns) { return EventTime::FromNs(ns); }

struct Example {
  Batch batch;
  std::vector<int64_t> times{1'000, 2'000, 2'500};
  std::vector<int64_t> steps{7, kNoStep, 6};
  std::vector<double> values{1, MissingValue(), StaleMarker(), NormalNan(), -0.0, 1e300};

  Example() {
    batch.job = "job-1";
    batch.source = "rank-3@node-7";
    batch.boot_id = "b";
    batch.sequence = 9;
    batch.first_sequence = 7;
    batch.info = {SourceKind::kRank,     "node-7",         3, At(990), 2,
                  Duration::Millis(500), {"eval", "train"}};
    batch.promise = At(2'400);
    Schema schema;
    schema.stream = 2;
    schema.series = {
        {Labels({{"__name__", "train_step"}, {"rank", "3"}}), SeriesKind::kGauge},
        {Labels({{"__name__", "bytes_total"}, {"Zone", "a\nb"}}), SeriesKind::kCounter}};
    schema.id = SchemaId(schema.stream, schema.series);
    batch.schemas = {schema};
    batch.frames = {{schema.id, times, steps, "train", values}, {77, {}, {}, "", {}}};
    batch.spans = {{Span::Kind::kStep, "", At(100), At(300), 7, "train"},
                   {Span::Kind::kPhase, "forward", At(100), At(100), kNoStep, ""},
                   {Span::Kind::kOperator, "aten::mm", At(5), At(9), 0, "eval"}};
    JobEvent event;
    event.kind = JobEvent::Kind::kNotice;
    event.time = At(17);
    event.name = "resnet";
    event.reference = {"slurm", "c", "n", "k", "12", "u", "q"};
    event.labels = {{"team", "x"}, {"empty", ""}};
    event.reason = "gpu_split_unknown";
    event.series = {"hw_gpu_utilization_ratio"};
    JobEvent lost;
    lost.kind = JobEvent::Kind::kRankLost;
    lost.time = At(18);
    lost.rank_lost = {3, "rank-3@node-7", "boot", 9, std::nullopt, true};
    JobEvent gone;
    gone.kind = JobEvent::Kind::kLauncherGone;
    batch.events = {event, {JobEvent::Kind::kStarted, At(1), "", {}, {}, "", {}, {}}, lost, gone};
    batch.step_promises = {{"train", 6}, {"eval", 0}};
    batch.goodbye = true;
    batch.owner = "uid:1000";
    batch.owner_declared = true;
  }
  Example(const Example&) = delete;
};

void ExpectSame(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.job, b.job);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.boot_id, b.boot_id);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.first_sequence, b.first_sequence);
  EXPECT_EQ(a.info.kind, b.info.kind);
  EXPECT_EQ(a.info.node, b.info.node);
  EXPECT_EQ(a.info.rank, b.info.rank);
  EXPECT_EQ(a.info.start, b.info.start);
  EXPECT_EQ(a.info.attempt, b.info.attempt);
  EXPECT_EQ(a.info.interval, b.info.interval);
  EXPECT_EQ(a.info.step_modes, b.info.step_modes);
  EXPECT_EQ(a.promise, b.promise);
  EXPECT_EQ(a.goodbye, b.goodbye);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.owner_declared, b.owner_declared);
  ASSERT_EQ(a.schemas.size(), b.schemas.size());
  for (size_t i = 0; i < a.schemas.size(); ++i) {
    EXPECT_EQ(a.schemas[i]->id, b.schemas[i]->id);
    EXPECT_EQ(a.schemas[i]->stream, b.schemas[i]->stream);
    EXPECT_EQ(a.schemas[i]->series, b.schemas[i]->series);
  }
  ASSERT_EQ(a.frames.size(), b.frames.size());
  for (size_t i = 0; i < a.frames.size(); ++i) {
    const Frame& x = a.frames[i];
    const Frame& y = b.frames[i];
    EXPECT_EQ(x.schema_id, y.schema_id);
    EXPECT_EQ(x.mode, y.mode);
    EXPECT_TRUE(std::equal(x.times.begin(), x.times.end(), y.times.begin(), y.times.end()));
    EXPECT_TRUE(std::equal(x.steps.begin(), x.steps.end(), y.steps.begin(), y.steps.end()));
    ASSERT_EQ(x.values.size(), y.values.size());
    for (size_t v = 0; v < x.values.size(); ++v) {
      EXPECT_EQ(std::bit_cast<uint64_t>(x.values[v]), std::bit_cast<uint64_t>(y.values[v]));
    }
  }
  ASSERT_EQ(a.spans.size(), b.spans.size());
  for (size_t i = 0; i < a.spans.size(); ++i) {
    EXPECT_EQ(a.spans[i].kind, b.spans[i].kind);
    EXPECT_EQ(a.spans[i].name, b.spans[i].name);
    EXPECT_EQ(a.spans[i].start, b.spans[i].start);
    EXPECT_EQ(a.spans[i].end, b.spans[i].end);
    EXPECT_EQ(a.spans[i].step, b.spans[i].step);
    EXPECT_EQ(a.spans[i].mode, b.spans[i].mode);
  }
  ASSERT_EQ(a.events.size(), b.events.size());
  for (size_t i = 0; i < a.events.size(); ++i) {
    EXPECT_EQ(a.events[i].kind, b.events[i].kind);
    EXPECT_EQ(a.events[i].time, b.events[i].time);
    EXPECT_EQ(a.events[i].name, b.events[i].name);
    EXPECT_EQ(a.events[i].reference, b.events[i].reference);
    EXPECT_EQ(a.events[i].labels, b.events[i].labels);
    EXPECT_EQ(a.events[i].reason, b.events[i].reason);
    EXPECT_EQ(a.events[i].series, b.events[i].series);
    EXPECT_EQ(a.events[i].rank_lost, b.events[i].rank_lost);
  }
  ASSERT_EQ(a.step_promises.size(), b.step_promises.size());
  for (size_t i = 0; i < a.step_promises.size(); ++i) {
    EXPECT_EQ(a.step_promises[i].mode, b.step_promises[i].mode);
    EXPECT_EQ(a.step_promises[i].step, b.step_promises[i].step);
  }
}

TEST(TelemetryCodec, RoundTripIsBitIdentical) {
  Example example;
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  BatchDecoder decoder;
  const auto decoded = decoder.Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_NE(decoded->batch, nullptr);
  EXPECT_EQ(decoded->control, nullptr);
  ExpectSame(example.batch, *decoded->batch);
}

TEST(TelemetryCodec, DecodeDoesNotReturnDataOfPreviousRecord) {
  Example example;
  std::string full, bare;
  EncodeBatch(example.batch, &full);
  Batch small;
  small.job = "j";
  small.source = "s";
  small.boot_id = "x";
  small.sequence = 1;
  small.info.kind = SourceKind::kNode;
  BatchEncoder encoder;
  std::string again;
  encoder.Encode(example.batch, &again);
  EXPECT_EQ(again, full);
  encoder.Encode(small, &bare);
  std::string fresh;
  EncodeBatch(small, &fresh);
  EXPECT_EQ(bare, fresh);

  BatchDecoder decoder;
  for (int round = 0; round < 3; ++round) {
    auto decoded = decoder.Decode(full);
    ASSERT_TRUE(decoded.ok());
    ExpectSame(example.batch, *decoded->batch);
    decoded = decoder.Decode(bare);
    ASSERT_TRUE(decoded.ok());
    ExpectSame(small, *decoded->batch);
    ASSERT_FALSE(decoder.Decode(std::string_view(full).substr(0, full.size() / 2)).ok());
  }
}

// Otherwise, text from a malicious collector would reach rules, events, and finally terminals.
TEST(TelemetryCodec, ControlCharactersInTextAreEscaped) {
  Example example;
  Schema schema;
  schema.series = {{Labels({{"__name__", "m"}, {"zone", "\x1b[2J\xe2\x80\xae"}})}};
  schema.id = SchemaId(schema.stream, schema.series);
  example.batch.schemas = {schema};
  example.batch.frames.clear();
  example.batch.events[0].name =
      "\xc2\x9b"
      "31m";
  example.batch.events[0].reason = "a\nb";
  example.batch.events[0].labels = {{"team", "\x07"}};
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  BatchDecoder decoder;
  const auto decoded = decoder.Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->batch->schemas[0]->series[0].labels.Get("zone"), "\\x1b[2J\\u202e");
  EXPECT_EQ(decoded->batch->events[0].name, "\\u009b31m");
  EXPECT_EQ(decoded->batch->events[0].reason, "a\nb") << "a line break is text";
  EXPECT_EQ(decoded->batch->events[0].labels[0].value, "\\x07");

  example.batch.job = "j\xc2\x85";
  EncodeBatch(example.batch, &bytes);
  EXPECT_THAT(std::string(decoder.Decode(bytes).status().message()),
              testing::HasSubstr("job \"j\\\\u0085\" has a control character"));
}

TEST(TelemetryCodec, ControlRecordsRoundTrip) {
  ControlRecord tick;
  tick.elapsed = Duration::Seconds(1);
  ControlRecord change;
  change.kind = ControlRecord::Kind::kRuleSetChange;
  change.rule_set_hash = "0123";
  BatchDecoder decoder;
  std::string bytes;
  EncodeControl(tick, &bytes);
  auto decoded = decoder.Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_NE(decoded->control, nullptr);
  EXPECT_EQ(decoded->control->kind, ControlRecord::Kind::kClockTick);
  EXPECT_EQ(decoded->control->elapsed, Duration::Seconds(1));
  EncodeControl(change, &bytes);
  decoded = decoder.Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->control->kind, ControlRecord::Kind::kRuleSetChange);
  EXPECT_EQ(decoded->control->rule_set_hash, "0123");
}

TEST(TelemetryCodec, ExtremeTimesAndStepsRoundTrip) {
  Example example;
  const std::vector<int64_t> times{-5, 0, std::numeric_limits<int64_t>::max()};
  const std::vector<int64_t> steps{0, std::numeric_limits<int64_t>::max() - 1, kNoStep};
  example.batch.frames = {{example.batch.schemas[0]->id, times, steps, "train", example.values}};
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  BatchDecoder decoder;
  const auto decoded = decoder.Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ExpectSame(example.batch, *decoded->batch);
}

struct BadCase {
  const char* reason;
  std::function<void(pb::TelemetryBatch*)> change;
};

class TelemetryCodecBad : public ::testing::TestWithParam<BadCase> {};

TEST_P(TelemetryCodecBad, IsRejectedWithReason) {
  Example example;
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  pb::TelemetryRecord record;
  ASSERT_TRUE(record.ParseFromString(bytes));
  GetParam().change(record.mutable_batch());
  DecodeLimits limits;
  limits.ticks_per_frame = 10;
  limits.series_per_schema = 4;
  limits.spans = 5;
  BatchDecoder decoder(limits);
  const auto decoded = decoder.Decode(record.SerializePartialAsString());
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(decoded.status().message()), HasSubstr(GetParam().reason));
  // The decoder remains usable after an error.
  EXPECT_TRUE(decoder.Decode(bytes).ok());
}

pb::Schema SchemaOf(std::vector<std::vector<std::pair<std::string, std::string>>> series) {
  pb::Schema schema;
  for (const auto& labels : series) {
    auto* out = schema.add_series();
    out->set_kind(pb::SERIES_KIND_GAUGE);
    for (const auto& [name, value] : labels) {
      if (name == "__name__" && out->metric().empty()) {
        out->set_metric(value);
        continue;
      }
      auto* label = out->add_labels();
      label->set_name(name);
      label->set_value(value);
    }
  }
  return schema;
}

INSTANTIATE_TEST_SUITE_P(
    All, TelemetryCodecBad,
    ::testing::Values(
        BadCase{"job is empty", [](auto* b) { b->clear_job(); }},
        BadCase{"two underscores", [](auto* b) { b->set_job("__control"); }},
        BadCase{"control character", [](auto* b) { b->set_job("a\nb"); }},
        BadCase{"job has 2000 bytes", [](auto* b) { b->set_job(std::string(2000, 'x')); }},
        BadCase{"source is empty", [](auto* b) { b->clear_source(); }},
        BadCase{"boot id is empty", [](auto* b) { b->clear_boot_id(); }},
        BadCase{"sequence 0", [](auto* b) { b->set_sequence(0); }},
        BadCase{"is below the first", [](auto* b) { b->set_first_sequence(b->sequence() + 1); }},
        BadCase{"source info is missing", [](auto* b) { b->clear_info(); }},
        BadCase{"unknown kind of source 0", [](auto* b) { b->mutable_info()->clear_kind(); }},
        BadCase{"a rank source needs a rank", [](auto* b) { b->mutable_info()->clear_rank(); }},
        BadCase{"negative interval", [](auto* b) { b->mutable_info()->set_interval_ns(-1); }},
        BadCase{"step mode is empty", [](auto* b) { b->mutable_info()->add_step_modes(""); }},
        BadCase{"schemas[0]: schema id",
                [](auto* b) { b->mutable_schemas(0)->mutable_series(0)->set_metric("other"); }},
        BadCase{"schemas[0]: schema id", [](auto* b) { b->mutable_schemas(0)->set_stream(3); }},
        BadCase{"schemas[1] is a duplicate of schemas[0]", [](auto* b) { *b->add_schemas() = b->schemas(0); }},
        BadCase{"schemas[0]: series[1]: metric is empty",
                [](auto* b) { b->mutable_schemas(0)->mutable_series(1)->clear_metric(); }},
        BadCase{"unknown kind of series",
                [](auto* b) { b->mutable_schemas(0)->mutable_series(1)->clear_kind(); }},
        BadCase{"label name is empty",
                [](auto* b) { *b->mutable_schemas(0) = SchemaOf({{{"__name__", "m"}, {"", "x"}}}); }},
        BadCase{"has an empty value",
                [](auto* b) { *b->mutable_schemas(0) = SchemaOf({{{"__name__", "m"}, {"a", ""}}}); }},
        BadCase{"a label appears twice",
                [](auto* b) { *b->mutable_schemas(0) = SchemaOf({{{"__name__", "m"}, {"a", "1"}, {"a", "2"}}}); }},
        BadCase{"__name__ is among the labels",
                [](auto* b) { *b->mutable_schemas(0) = SchemaOf({{{"__name__", "m"}, {"__name__", "n"}}}); }},
        BadCase{"appears twice in a schema",
                [](auto* b) {
                  const std::vector<SeriesDescriptor> twice(2, {Labels({{"__name__", "m"}}), SeriesKind::kGauge});
                  *b->mutable_schemas(0) = SchemaOf({{{"__name__", "m"}}, {{"__name__", "m"}}});
                  b->mutable_schemas(0)->set_id(SchemaId(0, twice));
                }},
        BadCase{"too many series (got 5, limit 4)",
                [](auto* b) {
                  for (int i = 0; i < 3; ++i) b->mutable_schemas(0)->add_series();
                }},
        BadCase{"frames[0]: times are not ascending",
                [](auto* b) { b->mutable_frames(0)->set_time_deltas_ns(1, 0); }},
        BadCase{"frames[0]: times are not ascending",
                [](auto* b) { b->mutable_frames(0)->set_time_deltas_ns(2, -1); }},
        BadCase{"the time of tick 1 overflows",
                [](auto* b) { b->mutable_frames(0)->set_time_deltas_ns(1, INT64_MAX); }},
        BadCase{"frames[0]: has 2 steps for 3 ticks",
                [](auto* b) { b->mutable_frames(0)->mutable_step_deltas()->RemoveLast(); }},
        BadCase{"the step of tick 0 is negative",
                [](auto* b) { b->mutable_frames(0)->set_step_deltas(0, -1); }},
        BadCase{"the step of tick 1 overflows",
                [](auto* b) { b->mutable_frames(0)->set_step_deltas(1, INT64_MAX); }},
        BadCase{"steps have no mode", [](auto* b) { b->mutable_frames(0)->clear_mode(); }},
        BadCase{"5 values for 3 ticks of 2 series",
                [](auto* b) { b->mutable_frames(0)->mutable_values()->RemoveLast(); }},
        BadCase{"frames[0]: 5 values are not a multiple of 3 ticks",
                [](auto* b) {
                  b->clear_schemas();
                  b->mutable_frames(0)->mutable_values()->RemoveLast();
                }},
        BadCase{"frames[1]: 1 values are not a multiple of 0 ticks",
                [](auto* b) { b->mutable_frames(1)->add_values(1); }},
        BadCase{"frames[1]: too many ticks (got 11, limit 10)",
                [](auto* b) {
                  for (int i = 0; i < 11; ++i) b->mutable_frames(1)->add_time_deltas_ns(1);
                }},
        BadCase{"spans[1]: unknown kind", [](auto* b) { b->mutable_spans(1)->clear_kind(); }},
        BadCase{"spans[0]: negative duration", [](auto* b) { b->mutable_spans(0)->set_duration_ns(-1); }},
        BadCase{"spans[0]: the end overflows", [](auto* b) { b->mutable_spans(0)->set_duration_ns(INT64_MAX); }},
        BadCase{"spans[0]: step", [](auto* b) { b->mutable_spans(0)->set_step(UINT64_MAX); }},
        BadCase{"too many spans (got 6, limit 5)",
                [](auto* b) {
                  for (int i = 0; i < 3; ++i) b->add_spans();
                }},
        BadCase{"job_events[1]: unknown kind", [](auto* b) { b->mutable_job_events(1)->clear_kind(); }},
        BadCase{"job_events[2]: rank_lost belongs to",
                [](auto* b) { b->mutable_job_events(2)->clear_rank_lost(); }},
        BadCase{"job_events[0]: rank_lost belongs to",
                [](auto* b) { b->mutable_job_events(0)->mutable_rank_lost(); }},
        BadCase{"job_events[2]: rank_lost: signal 256",
                [](auto* b) { b->mutable_job_events(2)->mutable_rank_lost()->set_signal(256); }},
        BadCase{"job_events[2]: rank_lost: exit code -1",
                [](auto* b) { b->mutable_job_events(2)->mutable_rank_lost()->set_exit_code(-1); }},
        BadCase{"job_events[2]: rank_lost: boot id is empty",
                [](auto* b) { b->mutable_job_events(2)->mutable_rank_lost()->clear_boot_id(); }},
        BadCase{"owner_declared requires an owner", [](auto* b) { b->clear_owner(); }},
        BadCase{"job_events[0]: label name is empty",
                [](auto* b) { b->mutable_job_events(0)->mutable_labels(0)->clear_name(); }},
        BadCase{"step_promises[0]: mode is empty",
                [](auto* b) { b->mutable_step_promises(0)->clear_mode(); }},
        BadCase{"step_promises[1]: step",
                [](auto* b) { b->mutable_step_promises(1)->set_step(uint64_t{1} << 63); }}));

TEST(TelemetryCodec, RejectsInvalidRecord) {
  BatchDecoder decoder;
  auto reason = [&](std::string_view bytes) {
    const auto decoded = decoder.Decode(bytes);
    EXPECT_FALSE(decoded.ok());
    return std::string(decoded.status().message());
  };
  EXPECT_THAT(reason(""), HasSubstr("neither a batch nor a control record"));
  EXPECT_THAT(reason("hello, world"), HasSubstr("not a TelemetryRecord"));
  pb::TelemetryRecord record;
  record.mutable_control();
  EXPECT_THAT(reason(record.SerializeAsString()), HasSubstr("unknown kind of control"));
  record.mutable_control()->mutable_clock_tick()->set_elapsed_ns(-1);
  EXPECT_THAT(reason(record.SerializeAsString()), HasSubstr("negative time"));
  record.mutable_control()->mutable_rule_set_change();
  EXPECT_THAT(reason(record.SerializeAsString()), HasSubstr("hash is empty"));
  DecodeLimits limits;
  limits.record_bytes = 10;
  EXPECT_THAT(std::string(BatchDecoder(limits).Decode("hello, world").status().message()),
              HasSubstr("12 bytes; the limit is 10"));
  // protobuf encodes text that is not UTF-8 without an error, here in field 1 of the batch.
  Example example;
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  bytes[bytes.find("job-1")] = '\xff';
  EXPECT_THAT(reason(bytes), HasSubstr("not valid UTF-8"));
}

TEST(TelemetryCodec, AcceptsAnyUtf8NameLikePrometheus3) {
  Example example;
  Schema schema;
  schema.series = {
      {Labels({{"__name__", "hw.gpu.utilization"}, {"k8s.pod/é", "v"}}), SeriesKind::kGauge}};
  schema.id = SchemaId(0, schema.series);
  example.batch.schemas.push_back(schema);
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  BatchDecoder decoder;
  const auto decoded = decoder.Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->batch->schemas[1]->series, schema.series);
}

// Truncated or corrupted bytes yield an error or a record, not a crash. (The fuzzer covers more
// cases.)
TEST(TelemetryCodec, DamagedBytesDoNotCrashDecoder) {
  Example example;
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  BatchDecoder decoder;
  for (size_t n = 0; n < bytes.size(); ++n)
    (void)decoder.Decode(std::string_view(bytes).substr(0, n));
  const uint32_t seed = 7;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto decoded = decoder.Decode(damaged);
    EXPECT_TRUE(decoded.ok() || !decoded.status().message().empty());
  }
}

// A known schema is not decoded again, but a schema that differs from it in a single byte is
// decoded.
TEST(BatchDecoder, RepeatedSchemaIsDecodedOnce) {
  const Example example;
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  BatchDecoder decoder;
  const auto first = decoder.Decode(bytes);
  ASSERT_TRUE(first.ok()) << first.status();
  const Schema* const seen = &*first->batch->schemas[0];
  const SharedSchema held = first->batch->schemas[0];
  const auto second = decoder.Decode(bytes);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(&*second->batch->schemas[0], seen);
  Batch other = example.batch;
  Schema changed = *held;
  changed.stream += 1;
  changed.id = SchemaId(changed.stream, changed.series);
  other.schemas = {changed};
  other.frames.clear();
  EncodeBatch(other, &bytes);
  const auto third = decoder.Decode(bytes);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_NE(&*third->batch->schemas[0], seen);
  EXPECT_EQ(third->batch->schemas[0]->stream, changed.stream);
}

TEST(BatchDecoder, RejectsConcatenatedBatches) {
  const Example example;
  std::string bytes;
  EncodeBatch(example.batch, &bytes);
  BatchDecoder decoder;
  EXPECT_THAT(std::string(decoder.Decode(bytes + bytes).status().message()),
              testing::HasSubstr("several parts"));
}

}  // namespace
}  // namespace pitwall::codec
