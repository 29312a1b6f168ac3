#include "services/offline/promqltest/golden_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "services/base/text/strings.h"
#include "services/model/value.h"
#include "services/offline/promqltest/golden_compare.h"
#include "services/offline/promqltest/golden_samples.h"

namespace pitwall::offline {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
using Kind = GoldenPoint::Kind;

std::string PointsText(std::string_view text) {
  const auto points = ParseGoldenPoints(text);
  if (!points.ok()) return "?";
  std::string out;
  for (const GoldenPoint& point : *points) {
    CatTo(out, out.empty() ? "" : " ",
          point.kind == Kind::kGap         ? "_"
          : point.kind == Kind::kHistogram ? "H"
          : IsStale(point.value)           ? "stale"
                                           : FormatDouble(point.value));
  }
  return out;
}

TEST(GoldenPoints, ParsesPointsLikePrometheus) {
  EXPECT_EQ(PointsText(""), "");
  EXPECT_EQ(PointsText("  1\t2.5  -3 "), "1 2.5 -3");
  EXPECT_EQ(PointsText("1+2x3"), "1 3 5 7");
  EXPECT_EQ(PointsText("-2-1x2"), "-2 -3 -4");
  EXPECT_EQ(PointsText("1e-3+1e-3x1"), "0.001 0.002");
  EXPECT_EQ(PointsText("1e+1-1e+1x1"), "10 0");
  EXPECT_EQ(PointsText("4x2 0x1 7x0"), "4 4 4 0 0 7");
  EXPECT_EQ(PointsText("_ _x2 stale NaN +Inf -Inf Infx1"), "_ _ _ stale NaN +Inf -Inf +Inf +Inf");
  EXPECT_EQ(PointsText("_x0 1"), "1");
  // The step is added repeatedly, and 0.1 + 0.1 + 0.1 differs from 3 * 0.1.
  EXPECT_EQ(PointsText("0+0.1x3"), "0 0.1 0.2 0.30000000000000004");
  for (const char* bad : {"1+x3", "1+2", "1x99999999", "banana", "1x", "1x-1", "stalex2", "1+-2x3",
                          "_+1x2", "1x2x3", "x3", "1,2"}) {
    EXPECT_EQ(PointsText(bad), "?") << bad;
  }
}

TEST(GoldenPoints, SkipsNativeHistograms) {
  EXPECT_EQ(PointsText("1 {{schema:1 sum:-3 buckets:[5 10 7]}} {{}} {{ }}"), "1 H H H");
  EXPECT_EQ(PointsText("{{count:1}}x2"), "H H H");
  EXPECT_EQ(PointsText("{{count:1}}+{{count:2 sum:1}}x1 _ {{count:1}}-{{count:2}}x0"), "H H _ H");
  EXPECT_EQ(PointsText("{{count:1"), "?");
  EXPECT_EQ(PointsText("{{count:1}}{{count:2}}"), "?");
  EXPECT_EQ(PointsText("{{count:1}}y"), "?");
}

TEST(GoldenPoints, SeriesMayHaveAnyName) {
  const auto labels = [](std::string_view text) {
    const auto series = ParseGoldenSeries(text);
    return series.ok() ? Cat(series->labels.ToString(), "|", series->points.size())
                       : std::string(ToStd(series.status().message()));
  };
  EXPECT_EQ(labels("m{a=\"b\"} 1 2"), "m{a=\"b\"}|2");
  EXPECT_EQ(labels("m"), "m|0");
  EXPECT_EQ(labels("{} 1"), "{}|1");
  EXPECT_EQ(labels("m{} 1"), "m|1");
  EXPECT_EQ(labels("sum{by=\"x\",} 1"), "sum{by=\"x\"}|1");
  EXPECT_EQ(labels("job:rate:5m 1"), "job:rate:5m|1");
  EXPECT_EQ(labels("{\"a metric\", \"with.dot\"=\"} \\\" {\"} 1"),
            labels("{__name__=\"a metric\", \"with.dot\"=\"} \\\" {\"} 1"));
  EXPECT_EQ(labels("m{a=`}`, b='}'} 1 2"), "m{a=\"}\",b=\"}\"}|2");
  EXPECT_NE(labels("m{a=\"b\"").find("unterminated"), std::string::npos);
  EXPECT_NE(labels("m{a=~\"b\"} 1").find("must use ="), std::string::npos);
  EXPECT_NE(labels("m{a=\"b\"}1").find("space"), std::string::npos);
}

TEST(GoldenPoints, ParsesStartTimestampLines) {
  EXPECT_TRUE(IsStartTimestampLine("m{a=\"b c\"}@st _ -30s"));
  EXPECT_TRUE(IsStartTimestampLine("m@st _"));
  EXPECT_FALSE(IsStartTimestampLine("m{a=\"@st\"} 1"));
  const auto starts = ParseStartTimestamps("m{a=\"b\"}@st  _ _x2 -30s-1mx2 0-1msx0 1s");
  ASSERT_TRUE(starts.ok()) << starts.status();
  EXPECT_EQ(starts->labels.ToString(), "m{a=\"b\"}");
  EXPECT_EQ(starts->points.size(), 0U + 1 + 2 + 3 + 1 + 1);
}

StatusOr<std::vector<GoldenCommand>> Script(std::string_view text) {
  return ParseGoldenScript("f.test", text);
}
std::string ScriptError(std::string_view text) {
  return std::string(ToStd(Script(text).status().message()));
}

TEST(GoldenScript, BlocksEndAtEmptyLinesAndComments) {
  const auto script = Script(
      "# a comment\n"
      "load 30s\n"
      "  m 1 2\n"
      "  # another\n"
      "clear\n"
      "eval_ordered instant at 5m sort(m)  \n"
      "\n"
      "eval range from 0 to 90 step 30s m\n");
  ASSERT_TRUE(script.ok()) << script.status();
  ASSERT_EQ(script->size(), 4U);
  EXPECT_EQ((*script)[2].line, 6);
  EXPECT_TRUE(std::get<EvalCommand>((*script)[2].what).ordered);
  EXPECT_EQ((*script)[3].line, 8);
  EXPECT_EQ(ScriptError("load 30s\n  m 1\n\nfoo bar\n"),
            "f.test:4: \"foo bar\" is not a command; valid commands are load, load_with_nhcb, "
            "clear, and eval");
}

TEST(GoldenScript, ParsesLoads) {
  const auto script = Script("LOAD_with_nhcb 5\n m{a=\"b\"} 1\r\n m{a=\"b\"} 3 4\n\nload 1m30s\n");
  ASSERT_TRUE(script.ok()) << script.status();
  ASSERT_EQ(script->size(), 2U);
  const auto& load = std::get<LoadCommand>((*script)[0].what);
  EXPECT_TRUE(load.native_histograms);
  EXPECT_EQ(load.step, 5 * kSecond);
  ASSERT_EQ(load.series.size(), 1U);  // only the last of the series with equal labels is kept
  EXPECT_EQ(load.series[0].points.size(), 2U);
  EXPECT_EQ(load.series[0].line, 3);
  EXPECT_EQ(std::get<LoadCommand>((*script)[1].what).step, 90 * kSecond);
  EXPECT_EQ(ScriptError("load x\n"),
            "f.test:1: the step \"x\" must be a duration or a number of seconds");
  EXPECT_EQ(ScriptError("load 1m\n m 1\n m banana\n"), "f.test:3: \"banana\": not a number");
}

TEST(GoldenScript, ParsesStartTimestamps) {
  const auto script = Script("load 1m\n m@st _ -1s\n m 1 2\n n 1\n");
  ASSERT_TRUE(script.ok()) << script.status();
  const auto& load = std::get<LoadCommand>((*script)[0].what);
  EXPECT_TRUE(load.series[0].start_timestamps);
  EXPECT_FALSE(load.series[1].start_timestamps);
  EXPECT_NE(ScriptError("load 1m\n m@st _\n m 1 2\n").find("f.test:3: there are 1"),
            std::string::npos);
  EXPECT_NE(ScriptError("load 1m\n m@st _\n n 1\n").find("another series"), std::string::npos);
  EXPECT_NE(ScriptError("load 1m\n m@st _\n").find("must be followed by a series"),
            std::string::npos);
}

EvalCommand Eval(std::string_view text) {
  const auto script = Script(text);
  EXPECT_TRUE(script.ok()) << script.status();
  return script.ok() ? std::get<EvalCommand>((*script)[0].what) : EvalCommand();
}

TEST(GoldenScript, ParsesEvals) {
  EvalCommand eval = Eval("eval instant at 1m30s  sum( m ) \n {} 3\n");
  EXPECT_EQ(eval.expr, "sum( m )");
  EXPECT_EQ(eval.start, 90 * kSecond);
  EXPECT_EQ(eval.end, 90 * kSecond);
  EXPECT_FALSE(eval.scalar.has_value());
  ASSERT_EQ(eval.series.size(), 1U);
  eval = Eval("Eval range from 0 to 2.5 step 500ms m{a=\"b\"}\n m 1 _ 2\n");
  EXPECT_TRUE(eval.range);
  EXPECT_EQ(eval.end, 5 * kSecond / 2);
  EXPECT_EQ(eval.step, kSecond / 2);
  EXPECT_EQ(Eval("eval instant at 0 1\n 0x10\n").scalar, 16);
  EXPECT_EQ(Eval("eval instant at 0 1\n -Inf\n").scalar, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Eval("eval instant at 0 \"a\"\n expect string \"a\\n\"\n").text, "a\n");
  EXPECT_EQ(Eval("eval instant at 0 \"a\"\n expect string `a\\n`\n").text, "a\\n");
  EXPECT_TRUE(Eval("eval instant at 0 m[1m]\n expect range vector from 0 to 1m step 10s\n m 1 2\n")
                  .range_vector);
  // A number, or the legacy form of an expected failure, also ends a block.
  EXPECT_EQ(Script("eval instant at 0 1\n 1\nclear\neval_fail instant at 0 m\n"
                   " expected_fail_message no, no\nclear\n")
                ->size(),
            4U);
}

TEST(GoldenScript, ParsesExpectations) {
  EvalCommand eval = Eval(
      "eval instant at 0 m\n expect warn msg: x y\n expect no_info\n expect ordered\n"
      " expect{} 1\n");
  EXPECT_TRUE(eval.ordered);
  EXPECT_FALSE(eval.fail);
  ASSERT_EQ(eval.series.size(), 1U);
  EXPECT_EQ(eval.series[0].labels.Name(), "expect");
  eval = Eval("eval range from 0 to 1m step 1m m\n expect fail msg:it is: so\n");
  EXPECT_TRUE(eval.fail);
  EXPECT_EQ(eval.message, "it is: so");
  EXPECT_EQ(Eval("eval instant at 0 m\n expect fail regex: a|b\n").pattern, "a|b");
  EXPECT_EQ(Eval("eval_fail instant at 0 m\n expected_fail_regexp a|b\n").pattern, "a|b");
  EXPECT_EQ(Eval("eval_fail instant at 0 m\n expected_fail_message a b\n").message, "a b");
}

TEST(GoldenScript, MalformedScript_ErrorNamesCause) {
  EXPECT_EQ(ScriptError("eval instant 5m m\n"), "f.test:1: \"at\" is missing");
  EXPECT_EQ(ScriptError("eval instant at 5m\n"), "f.test:1: expression is missing");
  EXPECT_EQ(ScriptError("eval range from 2m to 1m step 1m m\n"),
            "f.test:1: the end must not be before the start");
  EXPECT_NE(ScriptError("eval range from 0 to 1m step 0 m\n").find("greater than 0"),
            std::string::npos);
  EXPECT_NE(ScriptError("eval_foo instant at 0 m\n").find("not a command"), std::string::npos);
  EXPECT_NE(
      ScriptError("eval instant at 0 m\n m 1 2\n").find("f.test:2: each series in an instant"),
      std::string::npos);
  EXPECT_NE(ScriptError("eval instant at 0 m\n expect nothing\n").find("not a valid expectation"),
            std::string::npos);
  EXPECT_NE(ScriptError("eval instant at 0 m\n expect string x\n").find("quoted"),
            std::string::npos);
  EXPECT_NE(ScriptError("eval instant at 0 m\n expect fail regex: (\n").find("regular expression"),
            std::string::npos);
  EXPECT_NE(ScriptError("eval instant at 0 m\n expect fail\n expect fail\n").find("more than once"),
            std::string::npos);
}

TEST(GoldenCompare, AlmostEqualToleratesRoundingErrors) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_TRUE(AlmostEqual(1, 1 + 1e-6));
  EXPECT_FALSE(AlmostEqual(1, 1 + 1e-5));
  EXPECT_TRUE(AlmostEqual(-1e300, -1e300 * (1 + 1e-7)));
  EXPECT_FALSE(AlmostEqual(1, -1));
  EXPECT_TRUE(AlmostEqual(inf, inf));
  EXPECT_FALSE(AlmostEqual(inf, -inf));
  EXPECT_FALSE(AlmostEqual(inf, 1e308));
  EXPECT_TRUE(AlmostEqual(nan, -nan));
  EXPECT_FALSE(AlmostEqual(nan, 0));
  EXPECT_FALSE(AlmostEqual(nan, StaleMarker()));
  EXPECT_TRUE(AlmostEqual(StaleMarker(), StaleMarker()));
  EXPECT_TRUE(AlmostEqual(0, -0.0));
  EXPECT_FALSE(AlmostEqual(0, 1e-300));
  EXPECT_TRUE(AlmostEqual(0, tiny));
}

// Returns one character per eval in the script: P (passed), F (failed), or U (unsupported).
struct ScriptRun {
  Status status;
  std::string verdicts;
  std::vector<EvalOutcome> outcomes;
};
ScriptRun RunText(std::string_view text) {
  ScriptRun run;
  run.status = RunGoldenScript("f.test", text, [&](const GoldenCommand&, const EvalOutcome& o) {
    run.verdicts += o.verdict == Verdict::kPassed ? 'P' : o.verdict == Verdict::kFailed ? 'F' : 'U';
    run.outcomes.push_back(o);
  });
  return run;
}

constexpr std::string_view kLoad =
    "load 1m\n"
    "  m{a=\"1\"} 0+1x10\n"
    "  m{a=\"2\"} 0+2x10\n"
    "  late _x3 7\n"
    "\n";

TEST(GoldenRun, ComparesInstantVectors) {
  const auto verdict = [](std::string_view text) { return RunText(Cat(kLoad, text)).verdicts; };
  EXPECT_EQ(verdict("eval instant at 3m m\n m{a=\"2\"} 6\n m{a=\"1\"} 3\n"), "P");
  EXPECT_EQ(verdict("eval instant at 3m m\n m{a=\"2\"} 6\n"), "F");  // extra element
  EXPECT_EQ(verdict("eval instant at 3m m{a=\"1\"}\n m 3\n m{a=\"1\"} 3\n"),
            "F");                                                            // missing element
  EXPECT_EQ(verdict("eval instant at 3m m{a=\"1\"}\n {a=\"1\"} 3\n"), "F");  // wrong name
  EXPECT_EQ(verdict("eval instant at 3m m{a=\"1\"}\n m{a=\"1\"} 3.00001\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m m{a=\"1\"}\n m{a=\"1\"} 3.0000001\n"), "P");
  EXPECT_EQ(verdict("eval instant at 2m late\n"), "P");
  EXPECT_EQ(verdict("eval instant at 3m late\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m nothing\n 1\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m 1 + 1\n 2\n"), "P");
  EXPECT_EQ(verdict("eval instant at 3m 1 + 1\n 3\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m 1 + 1\n {} 2\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m vector(2)\n {} 2\n"), "P");
  EXPECT_EQ(verdict("eval instant at 3m \"a\"\n expect string \"a\"\n"), "P");
  EXPECT_EQ(verdict("eval instant at 3m \"a\"\n expect string \"b\"\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m \"a\"\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m m\n expect string \"b\"\n"), "F");
}

TEST(GoldenRun, ComparesOrder) {
  const auto verdict = [](std::string_view text) { return RunText(Cat(kLoad, text)).verdicts; };
  EXPECT_EQ(verdict("eval_ordered instant at 3m m\n m{a=\"1\"} 3\n m{a=\"2\"} 6\n"), "P");
  EXPECT_EQ(verdict("eval_ordered instant at 3m m\n m{a=\"2\"} 6\n m{a=\"1\"} 3\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m m\n expect ordered\n m{a=\"2\"} 6\n m{a=\"1\"} 3\n"), "F");
}

TEST(GoldenRun, ComparesRangeResults) {
  const auto verdict = [](std::string_view text) { return RunText(Cat(kLoad, text)).verdicts; };
  const std::string range = "eval range from 2m to 4m step 1m ";
  EXPECT_EQ(verdict(Cat(range, "m{a=\"1\"}\n m{a=\"1\"} 2 3 4\n")), "P");
  EXPECT_EQ(verdict(Cat(range, "m{a=\"1\"}\n m{a=\"1\"} 2+1x2\n")), "P");
  EXPECT_EQ(verdict(Cat(range, "m{a=\"1\"}\n m{a=\"1\"} 2 3\n")), "F");
  EXPECT_EQ(verdict(Cat(range, "m{a=\"1\"}\n m{a=\"1\"} 2 3 4 5\n")), "F");
  EXPECT_EQ(verdict(Cat(range, "late\n late _ 7 7\n")), "P");
  EXPECT_EQ(verdict(Cat(range, "late\n late 7 7 7\n")), "F");
  EXPECT_EQ(verdict(Cat(range, "late\n")), "F");
  EXPECT_EQ(verdict(Cat(range, "late\n late _ 7 7\n m _ _ _\n")), "F");
  EXPECT_EQ(verdict(Cat(range, "1\n {} 1 1 1\n")), "P");
  EXPECT_EQ(verdict(Cat(range, "1\n 1\n")), "F");
  EXPECT_EQ(verdict(Cat(range, "\"a\"\n expect fail\n")), "P");
}

TEST(GoldenRun, ComparesExpectedFailures) {
  const auto verdict = [](std::string_view text) { return RunText(Cat(kLoad, text)).verdicts; };
  const std::string fails = "eval instant at 3m m + on() late\n expect fail";
  EXPECT_EQ(verdict("eval_fail instant at 3m m + on() late\n"), "P");
  EXPECT_EQ(verdict("eval instant at 3m m + on() late\n {} 1\n"), "F");
  EXPECT_EQ(verdict(Cat(fails, "\n")), "P");
  EXPECT_EQ(verdict(Cat(fails, " msg: many-to-one matching must be explicit\n")), "P");
  EXPECT_EQ(verdict(Cat(fails, " msg: banana\n")), "F");
  EXPECT_EQ(verdict(Cat(fails, " regex: m.ny-to-o.e\n")), "P");
  EXPECT_EQ(verdict(Cat(fails, " regex: ^banana\n")), "F");
  EXPECT_EQ(verdict("eval instant at 3m m\n expect fail\n"), "F");
  EXPECT_EQ(verdict("eval instant at 3m m + \n m 1\n"), "F");
}

TEST(GoldenRun, UnsupportedEvalsAreNotFailures) {
  const ScriptRun run = RunText(
      "load_with_nhcb 1m\n h_bucket{le=\"1\", a=\"b\"} 1 2\n h_bucket{le=\"+Inf\", a=\"b\"} 1 2\n"
      " n 1 {{sum:1}}\n s@st -1s _\n s 1 2\n\n"
      "eval instant at 1m h\n h{a=\"b\"} {{}}\n\n"
      "eval instant at 1m h_bucket{le=\"1\"}\n h_bucket{le=\"1\", a=\"b\"} 2\n\n"
      "eval instant at 1m count({a=\"b\"})\n {} 9\n\n"
      "eval instant at 1m n\n n 1\n\n"
      "eval instant at 1m s\n s 2\n\n"
      "eval instant at 1m s\n s 3\n\n"
      "eval instant at 1m s[1m]\n expect range vector from 1m to 1m step 1m\n s 2\n");
  EXPECT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.verdicts, "UPUUPUU");
}

TEST(GoldenRun, FailureReportsDifference) {
  const ScriptRun run = RunText(Cat(kLoad, "eval instant at 3m m\n m{a=\"2\"} 7\n m{a=\"1\"} 3\n"));
  ASSERT_EQ(run.outcomes.size(), 1U);
  EXPECT_EQ(run.outcomes[0].why, "m{a=\"2\"} is 6, not 7");
  EXPECT_EQ(run.outcomes[0].expected, (std::vector<std::string>{"m{a=\"2\"} 7", "m{a=\"1\"} 3"}));
  EXPECT_EQ(run.outcomes[0].got, (std::vector<std::string>{"m{a=\"1\"} 3", "m{a=\"2\"} 6"}));
}

TEST(GoldenRun, LoadsAccumulateUntilClear) {
  EXPECT_EQ(RunText("load 1m\n m 1 2\n\nload 1m\n m _x2 3\n n 1\n\n"
                    "eval instant at 2m m + n\n {} 4\n\nclear\neval instant at 2m m\n")
                .verdicts,
            "PP");
  // As in Prometheus, a sample must not be older than the last sample, or have the same time but a
  // different value. Repeating the last sample is allowed.
  EXPECT_TRUE(RunText("load 1m\n m 1 2\n\nload 1m\n m _ 2 3\n").status.ok());
  EXPECT_EQ(ToStd(RunText("load 1m\n m 1 2\n\nload 30s\n m _ 3\n").status.message()),
            "f.test:5: m already has a sample at 60s, but this load has one at 30s");
  EXPECT_FALSE(RunText("load 1m\n m 1 2\n\nload 1m\n m _ 3\n").status.ok());
}

// Checks the exit code and the output of the command.
TEST(GoldenRun, PrintsFailuresAndCounts) {
  const std::string good = testing::TempDir() + "good.test";
  const std::string bad = testing::TempDir() + "bad.test";
  std::ofstream(good) << kLoad << "eval instant at 3m late\n late 7\n";
  std::ofstream(bad) << kLoad << "eval instant at 3m late\n late 8\n";
  testing::internal::CaptureStdout();
  EXPECT_EQ(*RunGolden({good}, {}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "1 passed, 0 failed, 0 unsupported\n");
  testing::internal::CaptureStdout();
  EXPECT_EQ(*RunGolden({good, bad}, {}), 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            Cat(bad,
                ":6: late at 3m: late is 7, not 8\n"
                "  expected:\n    late 8\n  got:\n    late 7\n"
                "1 passed, 1 failed, 0 unsupported\n"));
  testing::internal::CaptureStdout();
  EXPECT_EQ(*RunGolden({good, good + ".not"}, {}), 2);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "1 passed, 0 failed, 0 unsupported\n");
  EXPECT_FALSE(RunGolden({}, {}).ok());
}

TEST(GoldenRun, MalformedOrUnreadableScript_ReturnsError) {
  EXPECT_EQ(ScriptError("load 1m\n  m 1\n\xff\xfe\n"), "f.test:3: script is not valid UTF-8");
  EXPECT_EQ(*RunGolden({"/"}, {}), 2);
  EXPECT_EQ(*RunGolden({"/nonexistent"}, {}), 2);
}

}  // namespace
}  // namespace pitwall::offline
