#include "services/codec/imports/traces/tensorflow_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/system/files.h"
#include "services/codec/imports/testing/collected_samples.h"

namespace pitwall::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct ProfileOutcome {
  TestSamples samples;
  std::string error;
};

using ProfileFiles = std::vector<std::pair<std::string, std::string>>;

// If `skip_unusable` is true, files that are not profiles are skipped, as when a folder is
// imported.
ProfileOutcome ReadProfiles(const ProfileFiles& files, const ProfileLimits& limits = {},
                            bool skip_unusable = false) {
  ProfileOutcome outcome;
  SeriesIndex series(&outcome.samples);
  TensorflowProfileReader reader("job", &series, limits);
  Status done;
  for (const auto& [name, content] : files) {
    done = reader.BeginFile(name);
    const std::string_view text = content;
    for (size_t at = 0; at < text.size() && done.ok(); at += 1000)
      done = reader.Feed(text.substr(at, 1000));
    if (done.ok()) done = reader.EndFile();
    if (skip_unusable && absl::IsInvalidArgument(done)) done = OkStatus();
    if (!done.ok()) break;
  }
  if (done.ok()) done = reader.Finish();
  outcome.error = ToStd(done.message());
  return outcome;
}

std::string Recorded(const std::string& name) {
  const auto text = ReadFile("services/codec/imports/testdata/" + name);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : std::string();
}

// Helpers that write protobuf's wire format.
std::string Number(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Int(int field, uint64_t value) {
  return Number(static_cast<uint64_t>(field) << 3) + Number(value);
}
std::string Bytes(int field, std::string_view bytes) {
  return Cat(Number(static_cast<uint64_t>(field) << 3 | 2), Number(bytes.size()), bytes);
}
std::string Named(int field, uint64_t id, std::string_view name) {
  return Bytes(field, Cat(Int(1, id), Bytes(2, Cat(Int(1, id), Bytes(2, name)))));
}
// Returns an event. Times are in microseconds; `stat` is step_num.
std::string XEvent(uint64_t name, uint64_t offset, uint64_t duration, std::string_view stat = "") {
  return Bytes(4, Cat(Int(1, name), Int(2, offset * 1'000'000), Int(3, duration * 1'000'000),
                      stat.empty() ? "" : Bytes(4, stat)));
}
std::string XLine(std::string_view name, std::string_view events) {
  return Bytes(3, Cat(Bytes(2, name), Int(3, 1000), events));  // starts at 1 us
}

// Returns two steps of 100 us on the host, and the work on a GPU. The names have the IDs 1 to 6.
std::string Space() {
  const auto step = [](uint64_t n) { return Cat(Int(1, 9), Int(4, n)); };
  const std::string host =
      Cat(Bytes(2, "/host:CPU"),
          XLine("python",
                Cat(XEvent(1, 0, 100, step(7)), XEvent(1, 100, 100, step(8)), XEvent(2, 10, 20))),
          Named(4, 1, "train"), Named(4, 2, "EagerLocalExecute: IteratorGetNext"),
          Named(5, 9, "step_num"));
  const std::string gpu =
      Cat(Bytes(2, "/device:GPU:0"),
          XLine("Stream #7(Compute)", Cat(XEvent(3, 20, 50), XEvent(3, 120, 50))),
          XLine("Stream #8(MemcpyH2D)", XEvent(4, 10, 5)),
          XLine("Stream #9", Cat(XEvent(5, 60, 30), XEvent(6, 180, 40))),
          XLine("TensorFlow Ops", XEvent(3, 0, 200)),  // the same work by operator
          Named(4, 3, "volta_sgemm_128x64_nn"), Named(4, 4, "MemcpyH2D"),
          Named(4, 5, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"), Named(4, 6, "MemcpyP2P"));
  const std::string task =
      Cat(Bytes(2, "Task Environment"), Bytes(6, Cat(Int(1, 1), Int(3, 1'700'000'000'000'000'000))),
          Named(5, 1, "profile_start_time"));
  return Cat(Bytes(1, host), Bytes(1, gpu), Bytes(1, task), Bytes(4, "h"));
}

TEST(TensorflowProfileReader, ReadsStepsAndDevicesFromXSpace) {
  const ProfileOutcome read = ReadProfiles({{"plugins/profile/r/h.xplane.pb", Space()}});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(
      read.samples.Of("train_step_duration"),
      ElementsAre(R"(train_step_duration_seconds{rank="0"} train @1700000000000.101ms #7 0.0001)",
                  R"(train_step_duration_seconds{rank="0"} train @1700000000000.201ms #8 0.0001)"));
  EXPECT_THAT(read.samples.Of(R"(train_phase_duration_seconds{phase="dataloader")"),
              ElementsAre(HasSubstr(" #7 2e-05"), HasSubstr(" #8 0")));
  EXPECT_THAT(read.samples.Of("train_computation"),
              ElementsAre(HasSubstr(" #7 5e-05"), HasSubstr(" #8 5e-05")));
  EXPECT_THAT(read.samples.Of("train_communication"),
              ElementsAre(HasSubstr(" #7 3e-05"), HasSubstr(" #8 4e-05")));
  EXPECT_THAT(read.samples.Of("train_exposed"),
              ElementsAre(HasSubstr(" #7 2e-05"), HasSubstr(" #8 4e-05")));
  EXPECT_THAT(read.samples.Of("train_device_copy"),
              ElementsAre(HasSubstr(" #7 5e-06"), HasSubstr(" #8 0")));
  EXPECT_THAT(read.samples.Of("train_operator_seconds{device=\"gpu\""), SizeIs(4));
}

TEST(TensorflowProfileReader, ReadsTensorflowAndJaxProfiles) {
  // The profile was recorded with TensorFlow 2.21 on a CPU, with four steps of
  // tf.profiler.experimental.Trace("train", …, _r=1).
  const ProfileOutcome tf = ReadProfiles(
      {{"plugins/profile/2026_11_23_05_17_44/vm.xplane.pb", Recorded("tensorflow_cpu.xplane.pb")}});
  EXPECT_EQ(tf.error, "");
  EXPECT_THAT(tf.samples.Of("train_step_duration"),
              ElementsAre(HasSubstr(" #0 0.022578817"), HasSubstr(" #1 0.028632566"),
                          HasSubstr(" #2 0.01998204"), HasSubstr(" #3 0.041087554")));
  // This step contains the first call to the iterator.
  EXPECT_THAT(tf.samples.Of(R"(train_phase_duration_seconds{phase="dataloader")")[0],
              HasSubstr(" #0 0.012791507"));
  // Times are Unix times.
  EXPECT_THAT(tf.samples.Of("train_step{")[0], HasSubstr("@17954110639"));
  // JAX writes the same profile in two forms.
  const ProfileOutcome text = ReadProfiles(
      {{"plugins/profile/2026_11_23_05_18_14/vm.trace.json", Recorded("jax_cpu.trace.json")}});
  const ProfileOutcome binary = ReadProfiles(
      {{"plugins/profile/2026_11_23_05_18_14/vm.xplane.pb", Recorded("jax_cpu.xplane.pb")}});
  EXPECT_EQ(text.error, "");
  EXPECT_EQ(binary.error, "");
  EXPECT_THAT(text.samples.Of("train_step_duration"),
              ElementsAre(HasSubstr(" #0 0.000600745"), HasSubstr(" #1 0.004443115"),
                          HasSubstr(" #2 0.000312807"), HasSubstr(" #3 0.000213131")));
  EXPECT_THAT(binary.samples.Of("train_step_duration"), SizeIs(4));
  EXPECT_THAT(binary.samples.Of("train_step_duration")[1], HasSubstr(" #1 0.004443115"));
  // The time comes from the folder's name: 2026-11-23T05:18:14Z.
  EXPECT_THAT(text.samples.Of("train_step{")[0], HasSubstr("@1795411094000.7"));
}

TEST(TensorflowProfileReader, MapsHostsToRanks) {
  const ProfileOutcome read =
      ReadProfiles({{"r/b.xplane.pb", Space()}, {"r/a.xplane.pb", Space()}});
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.samples.Of("train_step{rank=\"0\"}"), SizeIs(2));
  EXPECT_THAT(read.samples.Of("train_step{rank=\"1\"}"), SizeIs(2));
  EXPECT_EQ(XSpacePathFor("r/a.trace.json.gz"), "r/a.xplane.pb");
  EXPECT_EQ(XSpacePathFor("r/a.xplane.pb"), "");
}

TEST(TensorflowProfileReader, UnusableFile_HostIsNotRank) {
  const std::string cut = "{\"traceEvents\":[\n";
  for (const std::string& unusable : {std::string("<html>"), Space().substr(0, 200), cut}) {
    const std::string name = unusable == cut ? "r/a.trace.json" : "r/a.xplane.pb";
    const ProfileOutcome read =
        ReadProfiles({{name, unusable}, {"r/b.xplane.pb", Space()}}, {}, /*skip_unusable=*/true);
    EXPECT_EQ(read.error, "");
    EXPECT_THAT(read.samples.Of("train_step{"), SizeIs(2));
    EXPECT_THAT(read.samples.Of("train_step{rank=\"0\"}"), SizeIs(2));
    EXPECT_THAT(read.samples.Of("train_world_size"), ::testing::Each(::testing::EndsWith(" 1")));
  }
}

TEST(TensorflowProfileReader, ErrorsIncludeLocationAndCause) {
  EXPECT_THAT(ReadProfiles({{"trace.txt", ""}}).error,
              HasSubstr("trace.txt: file name must be HOST.xplane.pb"));
  EXPECT_THAT(ReadProfiles({{"h.xplane.pb", ""}}).error, HasSubstr("h.xplane.pb: not a profile"));
  EXPECT_THAT(ReadProfiles({{"h.xplane.pb", "<html>"}}).error,
              HasSubstr("h.xplane.pb: invalid or truncated XSpace"));
  EXPECT_THAT(ReadProfiles({{"h.xplane.pb", Space()}}, {.xspace_bytes = 100}).error,
              HasSubstr("h.xplane.pb: file is longer than 100 bytes"));
  EXPECT_THAT(ReadProfiles({{"h.xplane.pb", Space()}}, {.trace = {.events = 2}}).error,
              HasSubstr("too many events in one input (limit 2)"));
  EXPECT_THAT(ReadProfiles({{"h.trace.json", "{\"traceEvents\":["}}).error,
              HasSubstr("h.trace.json:1:1: the trace is truncated"));
  // Truncating or changing a profile at any position causes an error or a different result, but
  // never a crash.
  for (const std::string& whole : {Space(), Recorded("tensorflow_cpu.xplane.pb")}) {
    for (size_t cut = 1; cut < whole.size(); cut += 1 + whole.size() / 300) {
      (void)ReadProfiles({{"h.xplane.pb", whole.substr(0, cut)}});
      std::string changed = whole;
      changed[cut] = static_cast<char>(changed[cut] ^ 0xff);
      (void)ReadProfiles({{"h.xplane.pb", changed}});
    }
  }
  EXPECT_THAT(
      ReadProfiles({{"h.xplane.pb", Recorded("tensorflow_cpu.xplane.pb").substr(0, 20'000)}}).error,
      HasSubstr("truncated XSpace at byte"));
}

TEST(TensorflowProfileReader, InvalidEvents_AreSkipped) {
  const auto step = [](uint64_t n) { return Cat(Int(1, 9), Int(4, n)); };
  const auto space = [&](std::string_view bad) {
    return Cat(
        Bytes(1, Cat(Bytes(2, "/host:CPU"), XLine("python", Cat(XEvent(1, 0, 100, step(7)), bad)),
                     Named(4, 1, "train"), Named(5, 9, "step_num"))),
        Bytes(1, Cat(Bytes(2, "Task Environment"),
                     Bytes(6, Cat(Int(1, 1), Int(3, 1'700'000'000'000'000'000))),
                     Named(5, 1, "profile_start_time"))));
  };
  const auto read = [&](std::string_view bad) {
    const auto outcome = ReadProfiles({{"h.xplane.pb", space(bad)}});
    EXPECT_EQ(outcome.error, "");
    return outcome.samples.Of("train_step{");
  };
  EXPECT_THAT(read(""), ::testing::SizeIs(1));
  EXPECT_EQ(read(XEvent(1, 200, 100, step(uint64_t{1} << 63))), read(""));
  // The duration is a negative number encoded as unsigned.
  EXPECT_EQ(read(Bytes(4, Cat(Int(1, 1), Int(2, 0), Int(3, ~uint64_t{0})))), read(""));
}

TEST(TensorflowProfileReader, InvalidTimesOfUnusedEvents_AreIgnored) {
  const std::string_view text = R"({"traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"M","pid":2,"name":"process_name","args":{"name":"/host:metadata"}},
{"ph":"X","pid":2,"tid":1,"name":"a","ts":1,"dur":-1},
{"ph":"X","pid":1,"tid":1,"name":"train","ts":1,"dur":5,"args":{"step_num":"4"}},
{"ph":"X","pid":1,"tid":1,"name":"train","ts":"x","dur":5,"args":{"step_num":"5"}},{}]})";
  const auto outcome = ReadProfiles({{"h.trace.json", std::string(text)}});
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples.Of("train_step{"), ::testing::SizeIs(1));
}

}  // namespace
}  // namespace pitwall::imports
