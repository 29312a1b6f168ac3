#include "services/codec/imports/traces/job_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/codec/imports/testing/collected_samples.h"

namespace pitwall::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The clock starts 1000 s after the epoch. Each phase has its own JSON pid.
constexpr std::string_view kHead = R"json([
{"name":"process_name","ph":"M","pid":0,"args":{"start_time_since_epoch_in_micros":1000000000}},
{"name":"process_sort_index","ph":"M","pid":0,"args":{"sort_index":0}},
{"name":"process_name","ph":"M","pid":1,"args":{"name":"Step:ModeKeys.TRAIN"}},
{"name":"process_name","ph":"M","pid":2,"args":{"name":"Forward"}},
{"name":"process_name","ph":"M","pid":3,"args":{"name":"Backward(post-forward)"}},
{"name":"process_name","ph":"M","pid":4,"args":{"name":"DataLoaderIter"}},
{"name":"process_name","ph":"M","pid":5,"args":{"name":"DataLoaderWorker"}},
{"name":"process_name","ph":"M","pid":6,"args":{"name":"DataLoaderIterInitialize"}},
{"name":"process_name","ph":"M","pid":7,"args":{"name":"Step:ModeKeys.EVAL"}},
{"name":"process_name","ph":"M","pid":8,"args":{"name":"cpu_functions"}},
)json";

// Returns a complete event. Times are in milliseconds since the file's epoch.
std::string X(int pid, double ms, double duration_ms, std::string_view args = "",
              std::string_view name = "e") {
  return Cat(R"({"name":")", name, R"(","ph":"X","pid":)", pid, R"(,"ts":)",
             FormatDouble(ms * 1000), R"(,"dur":)", FormatDouble(duration_ms * 1000),
             R"(,"args":{)", args, "}},\n");
}
std::string Half(char phase, int pid, double ms, std::string_view name) {
  return Cat(R"({"name":")", name, R"(","ph":")", std::string(1, phase), R"(","pid":)", pid,
             R"(,"ts":)", FormatDouble(ms * 1000), "},\n");
}
std::string Step(int number, double ms, double duration_ms, int pid = 1) {
  return X(pid, ms, duration_ms, Cat(R"("pid":905,"step_num":")", number, "\""));
}

struct Outcome {
  TestSamples samples;
  std::string error;
  uint64_t skipped = 0;       // in the last file
  std::string first_skipped;  // first error in the last file
};

using Files = std::vector<std::pair<std::string, std::string>>;

// If `skip_unusable` is true, files that are not traces are skipped, as when a folder is imported.
Outcome Read(const Files& files, size_t piece = 11, const TraceLimits& limits = {},
             bool skip_unusable = false) {
  Outcome outcome;
  SeriesIndex series(&outcome.samples);
  JobTimelineReader reader("job", &series, limits);
  Status done;
  for (const auto& [name, content] : files) {
    done = reader.BeginFile(name);
    const std::string_view text = content;
    for (size_t at = 0; at < text.size() && done.ok(); at += piece)
      done = reader.Feed(text.substr(at, piece));
    if (done.ok()) done = reader.EndFile();
    outcome.skipped = reader.skipped().skipped();
    if (outcome.skipped > 0) outcome.first_skipped = reader.skipped().first()[0];
    if (skip_unusable && absl::IsInvalidArgument(done)) done = OkStatus();
    if (!done.ok()) break;
  }
  if (done.ok()) done = reader.Finish();
  outcome.error = ToStd(done.message());
  return outcome;
}

constexpr std::string_view kFile = "x/1000900000_905-algo-1_pythontimeline.json";

TEST(JobTimelineReader, EmitsStepsAndPhases) {
  const std::string text =
      Cat(kHead, X(4, 0, 10), Half('B', 2, 10, "outer"), Half('B', 2, 12, "inner"),
          Half('E', 2, 15, ""), Half('E', 2, 30, ""), X(3, 30, 40), Step(5, 0, 100),
          X(8, 20, 7, "", "aten::mm"), X(4, 100, 50), X(2, 150, 25), X(3, 175, 50),
          // The backward phase extends into the next step, so each step gets its own part.
          Step(6, 100, 100), Step(0, 200, 50, 7), R"({"name":"i","ph":"i","pid":1})");
  for (const size_t piece : {size_t{1}, size_t{100}, text.size()}) {
    const Outcome read = Read({{std::string(kFile), text}}, piece);
    EXPECT_EQ(read.error, "");
    EXPECT_THAT(read.samples.Of("train_step"),
                ElementsAre(R"(train_step_duration_seconds{rank="0"} eval @1000250ms #0 0.05)",
                            R"(train_step_duration_seconds{rank="0"} train @1000100ms #5 0.1)",
                            R"(train_step_duration_seconds{rank="0"} train @1000200ms #6 0.1)",
                            R"(train_step{rank="0"} eval @1000250ms #0 0)",
                            R"(train_step{rank="0"} train @1000100ms #5 5)",
                            R"(train_step{rank="0"} train @1000200ms #6 6)"));
    EXPECT_THAT(
        read.samples.Of("train_phase_duration"),
        ElementsAre(
            R"(train_phase_duration_seconds{phase="backward",rank="0"} eval @1000250ms #0 0.025)",
            R"(train_phase_duration_seconds{phase="backward",rank="0"} train @1000100ms #5 0.04)",
            R"(train_phase_duration_seconds{phase="backward",rank="0"} train @1000200ms #6 0.025)",
            R"(train_phase_duration_seconds{phase="dataloader",rank="0"} train @1000100ms #5 0.01)",
            R"(train_phase_duration_seconds{phase="dataloader",rank="0"} train @1000200ms #6 0.05)",
            // Nested phases count only once.
            R"(train_phase_duration_seconds{phase="forward",rank="0"} train @1000100ms #5 0.02)",
            R"(train_phase_duration_seconds{phase="forward",rank="0"} train @1000200ms #6 0.025)"));
    EXPECT_THAT(
        read.samples.Of("train_operator"),
        ElementsAre(
            R"(train_operator_seconds{device="cpu",mode="train",operator="aten::mm",rank="0"} train @1000100ms #5 0.007)"));
    EXPECT_FALSE(read.samples.Of("train_phase_state").empty());
    EXPECT_THAT(read.samples.Of("train_world_size")[0],
                StartsWith(R"(train_world_size{rank="0"} eval @1000250ms #0 1)"));
  }
}

TEST(JobTimelineReader, CountsLoaderWorkers) {
  const std::string text =
      Cat(kHead, X(6, 0, 500, R"("num_workers":4,"pin_memory":true)"), Step(1, 500, 3000),
          X(5, 100, 10, R"("pid":11)"), X(5, 900, 200, R"("pid":12)"), X(5, 200, 10, R"("pid":11)"),
          X(5, 2000, 10, R"("pid":12)"));
  const Outcome read = Read({{std::string(kFile), text}});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_loader"),
              ElementsAre(R"(train_loader_pin_memory{rank="0"} @1000500ms 1)",
                          R"(train_loader_workers_configured{rank="0"} @1000500ms 4)",
                          R"(train_loader_workers{rank="0"} @1001000ms 2)",
                          R"(train_loader_workers{rank="0"} @1003000ms 1)"));
}

TEST(JobTimelineReader, NumbersRanksByNodeAndProcess) {
  const auto step = [](int number) { return Cat(kHead, Step(number, number * 10, 10)); };
  const auto file = [](int pid, std::string_view node) {
    return Cat("1_", pid, "-", node, "_pythontimeline.json");
  };
  const Outcome read = Read({{file(7, "algo-10"), step(1)},
                             {file(30, "algo-2"), step(2)},
                             {file(4, "algo-2"), step(3)},
                             {file(9, "algo-1"), step(4)},
                             // The loader worker is not a rank of its own.
                             {file(3, "algo-1"), Cat(kHead, X(5, 0, 1, R"("pid":3)"))},
                             {file(9, "algo-1"), step(5)}});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_step{"),
              ElementsAre(R"(train_step{rank="0"} train @1000050ms #4 4)",
                          R"(train_step{rank="0"} train @1000060ms #5 5)",
                          R"(train_step{rank="1"} train @1000040ms #3 3)",
                          R"(train_step{rank="2"} train @1000030ms #2 2)",
                          R"(train_step{rank="3"} train @1000020ms #1 1)"));
  EXPECT_THAT(read.samples.Of("train_loader"),
              ElementsAre(R"(train_loader_workers{rank="0"} @1001000ms 1)"));
  EXPECT_THAT(read.samples.Of("train_world_size")[0], ::testing::EndsWith(" 4"));
}

TEST(JobTimelineReader, UnusableFile_ProcessIsNotRank) {
  const std::string steps = Cat(kHead, Step(1, 10, 10));
  for (const std::string_view unusable : {"", "<html>", "[\n{\"ph\":"}) {
    const Outcome read = Read({{"1_7-algo-1_pythontimeline.json", std::string(unusable)},
                               {"1_7-algo-2_pythontimeline.json", steps}},
                              11, {}, /*skip_unusable=*/true);
    EXPECT_EQ(read.error, "");
    EXPECT_THAT(read.samples.Of("train_step{"),
                ElementsAre(R"(train_step{rank="0"} train @1000020ms #1 1)"));
    EXPECT_THAT(read.samples.Of("train_world_size")[0], ::testing::EndsWith(" 1"));
  }
}

TEST(JobTimelineReader, FindsHorovodOperations) {
  const std::string horovod =
      R"([{"name":"process_name","ph":"M","pid":0,"args":{"start_time_since_epoch_in_micros":1000000000}},
{"name":"process_name","ph":"M","pid":1,"args":{"name":"DistributedAdam_Allreduce/grad_0"}},
{"name":"NEGOTIATE_ALLREDUCE","ph":"B","pid":1,"ts":1000},{"name":"0","ph":"X","pid":1,"ts":1500,"dur":0},
{"ph":"E","pid":1,"ts":2000},{"name":"ALLREDUCE","ph":"B","pid":1,"ts":2000},
{"name":"QUEUE","ph":"B","pid":1,"ts":2100},{"ph":"E","pid":1,"ts":2200},{"ph":"E","pid":1,"ts":5000})";
  const Outcome read = Read({{"1_9-algo-1_horovod_timeline.json", horovod},
                             {"1_9-algo-1_pythontimeline.json", Cat(kHead, Step(1, 0, 10))}});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(
      read.samples.Of("train_phase_duration"),
      ElementsAre(
          R"(train_phase_duration_seconds{phase="collective",rank="0"} train @1000010ms #1 0.004)"));
}

TEST(JobTimelineReader, EmitsLongJobCompletely) {
  // There are more steps than fit into one write.
  std::string text(kHead);
  for (int i = 0; i < 1000; ++i) {
    CatTo(text, X(2, i * 10 + 1, 5), Step(i, i * 10, 10));
  }
  const Outcome read = Read({{std::string(kFile), text}}, 4096);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.samples.Of("train_step{").size(), 1000);
  EXPECT_EQ(read.samples.Of("train_phase_duration").size(), 1000);
  EXPECT_EQ(read.samples.Of(R"(train_phase_state{phase="forward",rank="0"})").size(), 2000);
}

TEST(JobTimelineReader, ErrorsIncludeLocationAndCause) {
  const auto error_of = [](std::string_view text, const TraceLimits& limits = {}) {
    return Read({{std::string(kFile), std::string(text)}}, 50, limits).error;
  };
  const std::string head(kHead);  // 11 lines
  EXPECT_EQ(
      error_of("[\n{\"ph\":\"X\",\"ts\":1,\"dur\":1}"),
      Cat(kFile, ":2:1: event precedes start_time_since_epoch_in_micros, so its time is unknown"));
  EXPECT_EQ(error_of(head + X(2, 1, 1) + X(2, 2, 1), {.events = 1}),
            Cat(kFile, ":13:1: too many events in one input (limit 1)"));
  // An event that starts or ends in another file is not an error.
  EXPECT_EQ(error_of(head + Half('E', 2, 4, "a") + Half('B', 2, 5, "a")), "");
  EXPECT_THAT(Read({{"trace.json", ""}}).error, StartsWith("trace.json: file name must be <end>"));
  EXPECT_THAT(Read({{std::string(kFile), "["}}).samples.Of(""), IsEmpty());
}

TEST(JobTimelineReader, InvalidEvents_AreSkippedAndReportedWithLocation) {
  const std::string head(kHead);  // 11 lines
  const auto error_of = [&](std::string_view text) {
    const Outcome read = Read({{std::string(kFile), std::string(text)}}, 50);
    EXPECT_EQ(read.error, "");
    EXPECT_EQ(read.skipped, 1u);
    return read.first_skipped;
  };
  EXPECT_EQ(error_of(head + X(1, 1, 1)),
            Cat(kFile, ":12:1: step_num \"\" is not a valid step number"));
  EXPECT_EQ(error_of(head + X(1, 1, 1, R"("step_num":"-1")")),
            Cat(kFile, ":12:1: step_num \"-1\" is not a valid step number"));
  EXPECT_EQ(error_of(head + "{\"ph\":\"X\",\"ts\":\"1\"}"),
            Cat(kFile, ":12:1: event has no numeric dur"));
  EXPECT_EQ(error_of(head + "{\"ph\":\"X\",\"ts\":1e300,\"dur\":1}"),
            Cat(kFile, ":12:1: ts 1e+300 is out of range"));
  EXPECT_EQ(error_of(head + "{\"ph\":\"X\",\"ts\":1,\"dur\":-1}"),
            Cat(kFile, ":12:1: event has a negative dur"));
  EXPECT_EQ(error_of(head + "{\"ph\":\"X\",}"), Cat(kFile, ":12:1: not JSON"));
  EXPECT_EQ(error_of(head + "{\"ph\":\"X\","), Cat(kFile, ":12:1: the trace is truncated"));
  EXPECT_EQ(error_of(head + Half('B', 2, 5, "a") + Half('E', 2, 4, "a")),
            Cat(kFile, ":13:1: event ends before it begins"));
}

// The phase keeps its own times even if an event inside it has no time.
TEST(JobTimelineReader, BeginOrEndWithoutTime_DoesNotEndOtherEvents) {
  const std::string head(kHead);
  const std::string inner = R"({"name":"b","ph":"B","pid":2,"ts":null},
)";
  const std::string inner_end = R"({"name":"b","ph":"E","pid":2,"ts":null},
)";
  const auto phases = [&](std::string_view inside) {
    const Outcome read =
        Read({{std::string(kFile),
               Cat(head, Step(1, 0, 100), Half('B', 2, 10, "a"), inside, Half('E', 2, 60, "a"))}});
    EXPECT_EQ(read.error, "");
    return read.samples.Of("train_phase_duration");
  };
  const auto expected = phases("");
  ASSERT_THAT(expected, ElementsAre(::testing::HasSubstr(" #1 0.05")));
  EXPECT_EQ(phases(inner + Half('E', 2, 20, "b")), expected);
  EXPECT_EQ(phases(Half('B', 2, 20, "b") + inner_end), expected);
}

TEST(JobTimelineReader, InvalidClockStart_FollowingEventsAreSkipped) {
  const Outcome read =
      Read({{std::string(kFile), Cat(kHead, Step(1, 0, 100),
                                     R"({"name":"process_name","ph":"M","pid":0,"args":)"
                                     R"({"start_time_since_epoch_in_micros":"soon"}},)"
                                     "\n",
                                     Step(2, 100, 100))}});
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.skipped, 2u);
  EXPECT_THAT(read.samples.Of("train_step{"), ::testing::SizeIs(1));
}

// TensorFlow's writer produced this form in smdebug's test folder model_timeline_traces, with a
// number and no node.
TEST(JobTimelineReader, ReadsTraceWithoutNode) {
  const std::string model = R"json([
{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros":1000000000}},
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "NcclManager"}},
{"ph": "X", "name": "kAllReduce", "ts": 20000, "pid": 1, "dur": 5000}
]
)json";
  const std::string python = std::string(kHead) + Step(1, 0, 100);
  EXPECT_TRUE(IsJobTimeline("1590461139923994_0001_model_timeline.json"));
  EXPECT_TRUE(IsJobTimeline("1_2-algo-1_smdataparallel_timeline.json"));
  EXPECT_FALSE(IsJobTimeline("1590461139923994_x_model_timeline.json"));
  // On its own, the process is a rank; with other processes, it belongs to the first rank.
  for (const bool alone : {true, false}) {
    Files files = {{"1_0001_model_timeline.json", model}};
    if (!alone) files.emplace_back("1_905-algo-2_pythontimeline.json", python);
    const Outcome read = Read(files);
    EXPECT_EQ(read.error, "");
    const auto phases = read.samples.Of(R"(train_phase_duration_seconds{phase="collective")");
    ASSERT_EQ(phases.size(), 1u);
    EXPECT_EQ(phases[0].find(" #1 0.005") != std::string::npos, !alone) << phases[0];
    EXPECT_THAT(read.samples.Of("train_step{"), ::testing::SizeIs(alone ? 0 : 1));
  }
}

}  // namespace
}  // namespace pitwall::imports
