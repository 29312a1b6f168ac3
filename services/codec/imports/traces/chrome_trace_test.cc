#include "services/codec/imports/traces/chrome_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/system/files.h"
#include "services/codec/imports/testing/collected_samples.h"

namespace pitwall::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Outcome {
  TestSamples samples;
  std::string error;
  uint64_t skipped = 0;  // over all files
};

Outcome Read(const std::vector<std::string>& files, size_t piece = 13,
             const TraceLimits& limits = {}) {
  Outcome outcome;
  SeriesIndex series(&outcome.samples);
  ChromeTraceReader reader("job", &series, limits);
  Status done;
  for (size_t i = 0; i < files.size() && done.ok(); ++i) {
    reader.BeginFile(Cat("t", i, ".json"));
    const std::string_view text = files[i];
    for (size_t at = 0; at < text.size() && done.ok(); at += piece)
      done = reader.Feed(text.substr(at, piece));
    if (done.ok()) done = reader.EndFile();
    outcome.skipped += reader.skipped().skipped();
  }
  if (done.ok()) done = reader.Finish();
  outcome.error = ToStd(done.message());
  return outcome;
}

std::string File(const std::string& name) {
  const auto text = ReadFile("services/codec/imports/testdata/" + name);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : std::string();
}

// Returns a complete event. Times are in microseconds.
std::string X(std::string_view category, std::string_view name, int64_t start, int64_t duration,
              std::string_view args = "", int tid = 1) {
  return Cat(R"({"ph":"X","cat":")", category, R"(","name":")", name, R"(","pid":1,"tid":)", tid,
             R"(,"ts":)", start, R"(,"dur":)", duration, R"(,"args":{)", args, "}},\n");
}
std::string Trace(std::string_view events, std::string_view members = "") {
  return Cat("{\"traceEvents\": [\n", events, "]", members, "}");
}

TEST(ChromeTraceReader, ReadsTorch2Trace) {
  const std::string text = File("torch_2_cpu.json");
  for (const size_t piece : {size_t{1}, text.size()}) {
    const Outcome read = Read({text}, piece);
    EXPECT_EQ(read.error, "");
    // Times are baseTimeNanoseconds + ts.
    EXPECT_THAT(
        read.samples.Of("train_step_duration"),
        ElementsAre(
            R"(train_step_duration_seconds{rank="0"} train @1795332776483.769ms #6 0.000900854)",
            R"(train_step_duration_seconds{rank="0"} train @1795332776484.5308ms #7 0.000732864)"));
    // These durations were recorded by PyTorch. The backward phase is a gap-free run of functions.
    EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="dataloader")"),
                ElementsAre(HasSubstr(" #6 0.000114901"), HasSubstr(" #7 0.00010056")));
    EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="forward")"),
                ElementsAre(HasSubstr(" #6 0.000319587"), HasSubstr(" #7 0.000213359")));
    EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="optimizer")"),
                ElementsAre(HasSubstr(" #6 8.1321e-05"), HasSubstr(" #7 6.9874e-05")));
    EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="backward")"), SizeIs(2));
    // c10d::allreduce_ started the collective, and a gloo thread ran it from 961.7 us to 1055.3 us.
    EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="collective")"),
                ElementsAre(HasSubstr(" #6 9.358e-05"), HasSubstr(" #7 7.9499e-05")));
    EXPECT_THAT(read.samples.Of("train_collective_operations_total"),
                ElementsAre(HasSubstr(" #6 1"), HasSubstr(" #7 2")));
    EXPECT_THAT(
        read.samples.Of(
            "train_operator_seconds{device=\"cpu\",mode=\"train\",operator=\"aten::addmm\""),
        SizeIs(2));
    EXPECT_THAT(read.samples.Of("train_communication"), SizeIs(0));  // the trace has no device
  }
}

TEST(ChromeTraceReader, ReadsTraceWithoutKineto) {
  const Outcome read = Read({File("torch_1_13_cpu.json")});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_step_duration"),
              ElementsAre(R"(train_step_duration_seconds{rank="0"} train @7.318ms #5 0.007246)",
                          R"(train_step_duration_seconds{rank="0"} train @8.292ms #6 0.000942)"));
  EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="backward")"),
              ElementsAre(HasSubstr(" #5 0.006643"), HasSubstr(" #6 0.000243")));
  EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="forward")"),
              ElementsAre(HasSubstr(" #5 0.000155"), HasSubstr(" #6 0.000376")));
  EXPECT_THAT(read.samples.Of("train_collective_operations_total"),
              ElementsAre(HasSubstr(" #5 1"), HasSubstr(" #6 2")));
}

TEST(ChromeTraceReader, SeparatesCommunicationFromComputation) {
  // Old and new names of categories and kernels are equivalent.
  const auto trace = [](bool old) {
    const std::string_view kernel = old ? "Kernel" : "kernel";
    const std::string_view nccl =
        old ? "ncclKernel_AllReduce_RING_LL_Sum_float" : "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    const std::string_view id = old ? "\"external id\":7" : "\"External id\":7";
    return Trace(Cat(X(old ? "Operator" : "user_annotation", "ProfilerStep#3", 1000, 100),
                     X(old ? "Operator" : "cpu_op", "aten::mm", 1010, 30, id),
                     X(old ? "Operator" : "cpu_op", "aten::fill_", 1020, 10),
                     X(kernel, "gemm", 1030, 30, id), X(kernel, "gemm", 1050, 20, id),
                     X(kernel, "other", 1075, 5), X(kernel, nccl, 1060, 30),
                     X(old ? "Memcpy" : "gpu_memcpy", "Memcpy HtoD", 1000, 50),
                     // The kernel ends after the step but belongs to it entirely.
                     X(kernel, nccl, 1095, 20), X(old ? "Runtime" : "cuda_runtime", "x", 1000, 9)),
                 ", \"distributedInfo\": {\"rank\": 3, \"world_size\": 8}");
  };
  for (const bool old : {true, false}) {
    const Outcome read = Read({trace(old)});
    EXPECT_EQ(read.error, "");
    const auto value = [](std::string_view metric, std::string_view number) {
      return Cat(metric, R"({mode="train",rank="3"} train @1.1ms #3 )", number);
    };
    EXPECT_THAT(read.samples.Of("train_comm"),
                ElementsAre(value("train_communication_seconds", "5e-05")));
    EXPECT_THAT(read.samples.Of("train_comp"),
                ElementsAre(value("train_computation_seconds", "4.5e-05")));
    EXPECT_THAT(read.samples.Of("train_exposed"),
                ElementsAre(value("train_exposed_communication_seconds", "3.5e-05")));
    const std::vector<std::string> operators =
        read.samples.Of("train_operator_seconds{device=\"gpu\"");
    ASSERT_THAT(operators, SizeIs(3));
    EXPECT_THAT(operators[0], HasSubstr("operator=\"aten::mm\",rank=\"3\"} train @1.1ms #3 5e-05"));
    // The time on the host excludes called operators.
    EXPECT_THAT(read.samples.Of("train_operator_seconds{device=\"cpu\""),
                ElementsAre(HasSubstr("aten::fill_\",rank=\"3\"} train @1.1ms #3 1e-05"),
                            HasSubstr("aten::mm\",rank=\"3\"} train @1.1ms #3 2e-05")));
    EXPECT_THAT(read.samples.Of("train_world_size")[0], HasSubstr(" #3 8"));
  }
}

// Returns a launch on the host and the launched kernel on the device.
std::string Launched(std::string_view kernel, int correlation, int64_t launch, int64_t start,
                     int64_t duration, int stream = 7) {
  return Cat(
      X("cuda_runtime", "cudaLaunchKernel", launch, 2, Cat(R"("correlation":)", correlation)),
      X("kernel", kernel, start, duration,
        Cat(R"("device":0,"stream":)", stream, R"(,"correlation":)", correlation), stream));
}

// Current PyTorch also records ProfilerStep#N on the device, from the first to the last kernel that
// the training thread launched on one stream. This excludes backward kernels (launched by another
// thread) and NCCL kernels (on another stream); see pytorch/kineto, issue 1022.
TEST(ChromeTraceReader, AssignsKernelsToLaunchingStep) {
  const std::string_view nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";
  const Outcome read = Read({Trace(
      Cat(X("user_annotation", "ProfilerStep#1", 1000, 1000),
          X("user_annotation", "ProfilerStep#2", 2000, 1000),
          // Step 1 has forward, backward, and all-reduce kernels. The last two run while the host
          // is in step 2.
          Launched("gemm_forward", 1, 1100, 1500, 300),
          Launched("gemm_backward", 2, 1200, 1900, 600), Launched(nccl, 3, 1300, 2100, 700, 24),
          // The kernels of step 2 run after the host's last mark.
          Launched("gemm_forward", 4, 2100, 2900, 300),
          Launched("gemm_backward", 5, 2200, 3300, 600), Launched(nccl, 6, 2300, 3500, 700, 24),
          X("gpu_user_annotation", "ProfilerStep#1", 1500, 300, "", 7),
          X("gpu_user_annotation", "ProfilerStep#2", 2900, 300, "", 7)))});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_step{"), SizeIs(2));
  EXPECT_THAT(read.samples.Of("train_computation"),
              ElementsAre(HasSubstr(" #1 0.0009"), HasSubstr(" #2 0.0009")));
  EXPECT_THAT(read.samples.Of("train_communication"),
              ElementsAre(HasSubstr(" #1 0.0007"), HasSubstr(" #2 0.0007")));
  EXPECT_THAT(read.samples.Of("train_exposed_communication"),
              ElementsAre(HasSubstr(" #1 0.0003"), HasSubstr(" #2 0.0003")));
}

// The host launches a step in 100 us, and the device needs 150 us for it, so the device's queue
// grows.
std::string StepsOfFullQueue(int64_t lag) {
  std::string events;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t start = 1000 + 100 * i;
    events += X("user_annotation", Cat("ProfilerStep#", i + 1), start, 100);
    events += Launched("gemm", static_cast<int>(i) + 1, start + 10, 1010 + lag + 150 * i, 150);
  }
  return events;
}

TEST(ChromeTraceReader, DeviceBehindHost_StepsLastUntilWorkEnds) {
  // The queue is initially empty.
  EXPECT_THAT(Read({Trace(StepsOfFullQueue(0))}).samples.Of("train_step_duration_seconds"),
              ElementsAre(HasSubstr("@1.16ms #1 0.00016"), HasSubstr("@1.31ms #2 0.00015"),
                          HasSubstr("@1.46ms #3 0.00015")));
  // The queue contains 400 us of work launched before the first mark.
  const std::string before = Launched("gemm", 9, 900, 1010, 400);
  EXPECT_THAT(
      Read({Trace(before + StepsOfFullQueue(400))}).samples.Of("train_step_duration_seconds"),
      ElementsAre(HasSubstr(" #1 0.00015"), HasSubstr(" #2 0.00015"), HasSubstr(" #3 0.00015")));
}

TEST(ChromeTraceReader, CopyOverlapsManySteps_StepDurationsMatchHost) {
  std::string events = Launched("gemm", 1, 1010, 1020, 150);
  events += X("cuda_runtime", "cudaMemcpyAsync", 1020, 2, R"("correlation":2)");
  events += X("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 1030, 5000,
              R"("device":0,"stream":9,"correlation":2)", 9);
  for (int i = 0; i < 3; ++i)
    events += X("user_annotation", Cat("ProfilerStep#", i), 1000 + 200 * i, 200);
  EXPECT_THAT(
      Read({Trace(events)}).samples.Of("train_step_duration_seconds"),
      ElementsAre(HasSubstr(" #0 0.0002"), HasSubstr(" #1 0.0002"), HasSubstr(" #2 0.0002")));
}

TEST(ChromeTraceReader, HostWaitsForDevice_StepDurationsMatchHost) {
  std::string events;
  for (int i = 0; i < 3; ++i) {
    events += X("user_annotation", Cat("ProfilerStep#", i), 1000 + 200 * i, 200);
    events += Launched("gemm", i + 1, 1010 + 200 * i, 1020 + 200 * i, 150);
  }
  EXPECT_THAT(
      Read({Trace(events)}).samples.Of("train_step_duration_seconds"),
      ElementsAre(HasSubstr(" #0 0.0002"), HasSubstr(" #1 0.0002"), HasSubstr(" #2 0.0002")));
}

TEST(ChromeTraceReader, KernelsWithoutLaunch_CountBetweenStepMarks) {
  const std::string steps = Cat(X("user_annotation", "ProfilerStep#1", 1000, 990),
                                X("user_annotation", "ProfilerStep#2", 2000, 1000));
  // Kernels are assigned through their operator if the trace has no launch.
  const std::string by_operator =
      Cat(X("cpu_op", "aten::mm", 1100, 10, "\"External id\":7"),
          X("kernel", "gemm", 2100, 100, "\"External id\":7"), X("kernel", "gemm", 2300, 50));
  const Outcome read = Read({Trace(Cat(steps, by_operator))});
  EXPECT_THAT(read.samples.Of("train_computation"),
              ElementsAre(HasSubstr(" #1 0.0001"), HasSubstr(" #2 5e-05")));
  // The kernels have only times, so they are assigned by step marks.
  const Outcome bare = Read({Trace(Cat(
      steps, X("kernel", "gemm", 1995, 100), X("kernel", "gemm", 2950, 50),
      X("kernel", "gemm", 900, 50), X("gpu_user_annotation", "ProfilerStep#1", 1995, 5, "", 2)))});
  EXPECT_THAT(bare.samples.Of("train_computation"),
              ElementsAre(HasSubstr(" #1 0.0001"), HasSubstr(" #2 5e-05")));
}

// Such kernels occur if a trace continues after the marked steps, or between two cycles of the
// schedule.
TEST(ChromeTraceReader, KernelsWithoutLaunchOutsideSteps_AreUnassigned) {
  std::string events = Cat(X("user_annotation", "ProfilerStep#1", 1000, 1000),
                           X("user_annotation", "ProfilerStep#9", 9000, 1000));
  for (int at = 1000; at < 20'000; at += 100) events += X("kernel", "gemm", at, 90);
  const Outcome read = Read({Trace(events)});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_computation"),
              ElementsAre(HasSubstr(" #9 0.0009"), HasSubstr(" #1 0.0009")));
}

TEST(ChromeTraceReader, CountsDeviceCopiesAndIdleTime) {
  const Outcome read =
      Read({Trace(Cat(X("user_annotation", "ProfilerStep#1", 1000, 1000),
                      X("user_annotation", "ProfilerStep#2", 2000, 1000),
                      X("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1100, 100),
                      X("gpu_memset", "Memset", 1150, 100), X("kernel", "gemm", 1200, 300),
                      X("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 1600, 100),
                      X("kernel", "gemm", 2100, 300), X("kernel", "gemm", 2600, 100)))});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_device_copy"),
              ElementsAre(HasSubstr(" #1 0.00015"), HasSubstr(" #2 0")));
  // Copies from one GPU to another are communication.
  EXPECT_THAT(read.samples.Of("train_communication"),
              ElementsAre(HasSubstr(" #1 0.0001"), HasSubstr(" #2 0")));
  // Idle time is counted from a step's first work to the next step's first work: 1500 to 1600 and
  // 1700 to 2100.
  EXPECT_THAT(read.samples.Of("train_device_idle"),
              ElementsAre(HasSubstr(" #1 0.0005"), HasSubstr(" #2 0.0002")));
}

TEST(ChromeTraceReader, KeepsLargestOperators) {
  std::string events = X("user_annotation", "ProfilerStep#1", 0, 100'000);
  for (int i = 0; i < 30; ++i) CatTo(events, X("cpu_op", Cat("op", 10 + i), i * 1000, 100 + i));
  const Outcome read = Read({Trace(events)});
  const std::vector<std::string> operators = read.samples.Of("train_operator_seconds");
  ASSERT_THAT(operators, SizeIs(kMaxOperators));
  EXPECT_THAT(operators.front(), HasSubstr("operator=\"op20\""));
  EXPECT_THAT(operators.back(), HasSubstr("operator=\"op39\""));
}

TEST(ChromeTraceReader, CountsCollectivesByGroup) {
  const auto comms = [](int64_t at, std::string_view group) {
    return Cat(
        X("cpu_op", "c10d::allreduce_", at, 10),
        X("cpu_op", "record_param_comms", at + 1, 8, Cat(R"("Process Group Name":")", group, "\"")),
        X("user_annotation", "nccl:all_reduce", at + 2, 5));
  };
  const Outcome read = Read({Trace(Cat(X("user_annotation", "ProfilerStep#1", 0, 100),
                                       X("user_annotation", "ProfilerStep#2", 100, 100),
                                       comms(110, "0"), comms(10, "0"), comms(30, "tp")))});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_collective_operations_total{group=\"0\""),
              ElementsAre(HasSubstr(" #1 1"), HasSubstr(" #2 2")));
  EXPECT_THAT(read.samples.Of("train_collective_operations_total{group=\"tp\""),
              ElementsAre(HasSubstr(" #1 1"), HasSubstr(" #2 1")));
  EXPECT_THAT(read.samples.Of("train_phase_duration_seconds{phase=\"collective\""),
              ElementsAre(HasSubstr(" #1 2e-05"), HasSubstr(" #2 1e-05")));
}

TEST(ChromeTraceReader, MergesFilesOfJob) {
  const auto rank = [](int number, int step) {
    return Trace(X("user_annotation", Cat("ProfilerStep#", step), step * 10, 10),
                 Cat(", \"distributedInfo\": {\"rank\": ", number, "}"));
  };
  const Outcome read = Read({rank(1, 2), rank(0, 1), rank(1, 1)});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_step{"),
              ElementsAre(R"(train_step{rank="0"} train @0.02ms #1 1)",
                          R"(train_step{rank="1"} train @0.02ms #1 1)",
                          R"(train_step{rank="1"} train @0.03ms #2 2)"));
}

TEST(ChromeTraceReader, ErrorsIncludeLocationAndCause) {
  const auto error_of = [](std::string_view text, const TraceLimits& limits = {}) {
    return Read({std::string(text)}, 50, limits).error;
  };
  EXPECT_EQ(error_of(Trace(X("user_annotation", "ProfilerStep#x", 0, 1))),
            "t0.json:2:1: \"ProfilerStep#x\" is not a step");
  EXPECT_EQ(error_of(Trace("{\"ph\":\"X\",\"cat\":\"cpu_op\"}")),
            "t0.json:2:1: event has no numeric ts");
  EXPECT_EQ(error_of(Trace(X("cpu_op", "a", 0, 1) + X("cpu_op", "b", 0, 1)), {.events = 1}),
            "t0.json:3:1: too many operators, annotations, and kernels in one input (limit 1)");
  EXPECT_EQ(error_of(Trace("", ", \"distributedInfo\": {\"rank\": -1}")),
            "t0.json:2:1: distributedInfo: invalid rank -1");
  EXPECT_EQ(error_of(Trace("", ", \"baseTimeNanoseconds\": \"x\"")),
            "t0.json:2:1: baseTimeNanoseconds \"x\" is not a time");
  EXPECT_EQ(error_of(Trace(X("cpu_op", "a", 2'000'000'000'000'000, 1),
                           ", \"baseTimeNanoseconds\": 2000000000000000000")),
            "t0.json: the times of \"a\" are out of range (baseTimeNanoseconds "
            "2000000000000000000)");
  // Older traces have Unix times and no base time.
  EXPECT_EQ(error_of(Trace(X("user_annotation", "ProfilerStep#1", 1'700'000'000'000'000, 1))), "");
}

TEST(ChromeTraceReader, InvalidEvents_AreSkipped) {
  const std::string good = X("user_annotation", "ProfilerStep#1", 1000, 1000);
  const std::vector<std::string> read = Read({Trace(good)}).samples.Of("");
  for (const std::string& bad :
       {X("cpu_op", "a", 1100, -5), X("user_annotation", "ProfilerStep#x", 2000, 10),
        std::string("{\"ph\":\"X\",\"cat\":\"cpu_op\"},\n"),
        X("user_annotation", "ProfilerStep#2", 2'000'000'000'000'000'000, 1),
        std::string("{\"ph\": \"X\", oops},\n"), std::string("7,\n")}) {
    for (const std::string& events : {bad + good, good + bad}) {
      const Outcome outcome = Read({Trace(events)});
      EXPECT_EQ(outcome.error, "") << bad;
      EXPECT_EQ(outcome.samples.Of(""), read) << bad;
      EXPECT_EQ(outcome.skipped, 1u) << bad;
    }
  }
}

TEST(ChromeTraceReader, InvalidTimesOfUnusedEvents_AreIgnored) {
  const Outcome read = Read({Trace(X("user_annotation", "ProfilerStep#1", 1000, 1000) +
                                   X("python_function", "a.py(1): f", 1100, -5) +
                                   X("Trace", "PyTorch Profiler (0)", 0, -1))});
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.skipped, 0u);
  EXPECT_THAT(read.samples.Of("train_step{"), SizeIs(1));
}

// torch_npu writes such times in trace_view.json.
TEST(ChromeTraceReader, TimesAsText_AreExact) {
  const Outcome read =
      Read({"[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"ProfilerStep#3\",\"pid\":7,"
            "\"tid\":7,\"ts\":\"1720516534785543.125\",\"dur\":\"1000.25\"}]"});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_step_duration"), ElementsAre(HasSubstr(" #3 0.00100025")));
}

TEST(ChromeTraceReader, InvalidJsonInNamesAndArguments_IsRepaired) {
  const Outcome read = Read({Trace(X("user_annotation", "ProfilerStep#1", 0, 100) +
                                   X("cpu_op", "C:\\Users\xff", 10, 20, "\"flops\": NaN"))});
  EXPECT_EQ(read.skipped, 0u);
  EXPECT_THAT(read.samples.Of("train_operator_seconds"), SizeIs(1));
}

TEST(ChromeTraceReader, TruncatedTrace_EarlierStepsAreRead) {
  const std::string events = X("user_annotation", "ProfilerStep#1", 1000, 1000) +
                             X("user_annotation", "ProfilerStep#2", 2000, 1000);
  const std::string head =
      "{\"baseTimeNanoseconds\": 1700000000000000000, \"distributedInfo\": {\"rank\": 1}, "
      "\"traceEvents\": [\n";
  const Outcome cut = Read({head + events.substr(0, events.size() - 9)});
  EXPECT_EQ(cut.error, "");
  EXPECT_EQ(cut.skipped, 1u);
  EXPECT_THAT(cut.samples.Of("train_step{"), SizeIs(1));
  // Members after the truncation may determine the times or the rank.
  EXPECT_THAT(Read({"{\"traceEvents\": [\n" + events}).error, HasSubstr("baseTimeNanoseconds"));
  const std::string no_rank =
      "{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": [\n" + events;
  EXPECT_EQ(Read({no_rank}).error, "");
  EXPECT_THAT(Read({no_rank, head + events + "]}"}).error,
              HasSubstr("t0.json: the trace is truncated before distributedInfo"));
  // Truncating a trace at any position results in an error or fewer events.
  const std::string text = File("torch_2_cpu.json");
  for (size_t at = 0; at + 3 < text.size(); at += 101) {
    const Outcome part = Read({text.substr(0, at)});
    EXPECT_TRUE(part.skipped > 0 || !part.error.empty()) << at;
  }
}

}  // namespace
}  // namespace pitwall::imports
