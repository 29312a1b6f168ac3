#include "services/codec/openmetrics/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "services/model/value.h"

namespace pitwall::openmetrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Collected final : public SampleSink {
 public:
  Status NewSeries(uint32_t series, Labels labels) override {
    EXPECT_EQ(series, series_.size());
    series_.push_back(std::move(labels));
    return OkStatus();
  }
  Status Sample(uint32_t series, int64_t time_ns, double value, uint32_t line) override {
    lines.push_back(line);
    values.push_back(value);
    samples.push_back(Cat(series_.at(series).ToString(), " ", FormatDouble(value), " ", time_ns));
    return OkStatus();
  }
  std::vector<std::string> samples;
  std::vector<double> values;
  std::vector<uint32_t> lines;

 private:
  std::vector<Labels> series_;
};

struct Outcome {
  std::string error;
  std::vector<std::string> samples;
};

// Reads the text in pieces of `piece` bytes. The piece size must not change the result.
Outcome ReadIn(std::string_view text, size_t piece, Dialect dialect, ReaderLimits limits = {}) {
  Collected sink;
  Reader reader("f", dialect, &sink, limits);
  Status status;
  for (size_t i = 0; i < text.size() && status.ok(); i += piece)
    status = reader.Feed(text.substr(i, piece));
  if (status.ok()) status = reader.Finish();
  return {std::string(ToStd(status.message())), sink.samples};
}

std::vector<std::string> Read(std::string_view text) {
  const Outcome whole = ReadIn(text, text.size() + 1, DialectOf(text));
  const Outcome bytes = ReadIn(text, 1, DialectOf(text));
  EXPECT_EQ(whole.error, "");
  EXPECT_EQ(bytes.error, "");
  EXPECT_EQ(whole.samples, bytes.samples);
  return whole.samples;
}

std::string ErrorOf(std::string_view text) {
  const Outcome whole = ReadIn(text, text.size() + 1, DialectOf(text));
  EXPECT_EQ(ReadIn(text, 3, DialectOf(text)).error, whole.error);
  return whole.error;
}

TEST(OpenMetricsReader, ReadsAllFamilyTypes) {
  EXPECT_THAT(
      Read("# HELP temp How hot.\n# TYPE temp gauge\n# UNIT temp \n"
           "temp{gpu=\"0\"} 41.5 1.5\ntemp{gpu=\"0\"} 42 2\n"
           "# TYPE steps counter\nsteps_total 7 1 # {trace_id=\"a\"} 1 0.5\nsteps_created 1 1\n"
           "# TYPE wait_seconds histogram\n# UNIT wait_seconds seconds\n"
           "wait_seconds_bucket{le=\"1\"} 2 1\nwait_seconds_bucket{le=\"+Inf\"} 3 1\n"
           "wait_seconds_count 3 1\nwait_seconds_sum 4 1\n"
           "# TYPE q summary\nq{quantile=\"0.5\"} 1 1\nq_count 2 1\nq_sum 3 1\n"
           "# TYPE gh gaugehistogram\ngh_bucket{le=\"1\"} 1 1\ngh_gcount 1 1\ngh_gsum 1 1\n"
           "# TYPE build info\nbuild_info{v=\"1\"} 1 1\n"
           "# TYPE state stateset\nstate{state=\"on\"} 1 1\nstate{state=\"off\"} 0 1\n"
           "# TYPE u unknown\nu 1 1\n"
           "loose_total -3 1\n# EOF\n"),
      ElementsAre("temp{gpu=\"0\"} 41.5 1500000000", "temp{gpu=\"0\"} 42 2000000000",
                  "steps_total 7 1000000000", "steps_created 1 1000000000",
                  "wait_seconds_bucket{le=\"1.0\"} 2 1000000000",
                  "wait_seconds_bucket{le=\"+Inf\"} 3 1000000000",
                  "wait_seconds_count 3 1000000000", "wait_seconds_sum 4 1000000000",
                  "q{quantile=\"0.5\"} 1 1000000000", "q_count 2 1000000000", "q_sum 3 1000000000",
                  "gh_bucket{le=\"1\"} 1 1000000000", "gh_gcount 1 1000000000",
                  "gh_gsum 1 1000000000", "build_info{v=\"1\"} 1 1000000000",
                  "state{state=\"on\"} 1 1000000000", "state{state=\"off\"} 0 1000000000",
                  "u 1 1000000000", "loose_total -3 1000000000"));
}

TEST(OpenMetricsReader, InvalidLines_AreSkippedAndReportedWithLocation) {
  const auto read = [](Dialect dialect, std::string_view text, lenient::SkippedRecords* skipped) {
    Collected sink;
    Reader reader("f", dialect, &sink, {}, skipped);
    Status done = reader.Feed(text);
    if (done.ok()) done = reader.Finish();
    return std::pair(sink.lines, std::string(ToStd(done.message())));
  };
  lenient::SkippedRecords skipped("line");
  const auto [lines, error] = read(Dialect::kOpenMetrics,
                                   "# TYPE a gauge\na 1 1\na{x=\"\xff\"} 2 2\na oops 3\nb 1 1\n\n"
                                   "# TYPE a gauge\na 4 4\n# EOF\n",
                                   &skipped);
  EXPECT_EQ(error, "");
  EXPECT_THAT(lines, ElementsAre(2, 5, 8));
  EXPECT_EQ(skipped.skipped(), 4u);
  EXPECT_EQ(skipped.first()[0], "f:3:6: not UTF-8");
  // The reader rejects these files as a whole: no valid sample, truncated, or continued after #
  // EOF.
  lenient::SkippedRecords none("line"), cut("line"), more("line");
  EXPECT_THAT(read(Dialect::kPrometheusText, "a 1 1700000000\n", &none).second,
              HasSubstr("is in 1970"));
  EXPECT_THAT(read(Dialect::kOpenMetrics, "a 1 1\n", &cut).second, HasSubstr("truncated"));
  EXPECT_THAT(read(Dialect::kOpenMetrics, "a 1 1\n# EOF\na 2 2\n# EOF\n", &more).second,
              HasSubstr("nothing may follow"));
}

TEST(OpenMetricsReader, SinkRejectsSamples_NoSampleCountsAsUsed) {
  class Rejecting final : public SampleSink {
   public:
    Status NewSeries(uint32_t, Labels) override { return OkStatus(); }
    Status Sample(uint32_t, int64_t, double, uint32_t) override {
      return InvalidArgument("too early");
    }
  };
  Rejecting sink;
  lenient::SkippedRecords skipped("line");
  Reader reader("f", Dialect::kOpenMetrics, &sink, {}, &skipped);
  ASSERT_TRUE(reader.Feed("a 1 1\na 2 2\n# EOF\n").ok());
  EXPECT_EQ(reader.Finish().message(), "f:1:1: too early");
  EXPECT_EQ(skipped.used(), 0u);
  EXPECT_EQ(skipped.skipped(), 2u);
}

TEST(OpenMetricsReader, ReadsQuotedNamesAndEscapes) {
  EXPECT_THAT(
      Read("# TYPE \"my metric\" gauge\n"
           "{\"my metric\",\"a b\"=\"x\\\"y\\\\z\\nw\\q\",c=\"}{,= #\"} 1 1\n"
           "{\"é€\"} 2 1\n# EOF"),
      ElementsAre(Labels({{"__name__", "my metric"}, {"a b", "x\"y\\z\nw\\q"}, {"c", "}{,= #"}})
                          .ToString() +
                      " 1 1000000000",
                  Labels({{"__name__", "é€"}}).ToString() + " 2 1000000000"));
}

TEST(OpenMetricsReader, ReadsNumbersBitIdentically) {
  Collected sink;
  Reader reader("f", Dialect::kOpenMetrics, &sink);
  ASSERT_TRUE(
      reader.Feed("a NaN 1\na nan 2\na +Inf 3\na -Inf 4\na 1e-320 5\na 0.1 6\n# EOF\n").ok());
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_EQ(std::bit_cast<uint64_t>(sink.values[0]), kNormalNanBits);
  EXPECT_EQ(std::bit_cast<uint64_t>(sink.values[1]), kNormalNanBits);
  EXPECT_EQ(sink.values[2], std::numeric_limits<double>::infinity());
  EXPECT_EQ(sink.values[3], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(sink.values[4], 1e-320);
  EXPECT_EQ(sink.values[5], 0.1);
  EXPECT_THAT(sink.lines, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(OpenMetricsReader, ConvertsSecondsToNanosecondsExactly) {
  EXPECT_EQ(ParseSeconds("1767225600.123456789"), 1767225600123456789);
  EXPECT_EQ(ParseSeconds("1.7672256001234567e+09"), 1767225600123456700);
  EXPECT_EQ(ParseSeconds("1767225600.1234567894"), 1767225600123456789);
  EXPECT_EQ(ParseSeconds("0.0000000005"), 1);
  EXPECT_EQ(ParseSeconds("0.00000000049"), 0);
  EXPECT_EQ(ParseSeconds("-1.5"), -1500000000);
  EXPECT_EQ(ParseSeconds("000000000000000000000001"), 1000000000);
  EXPECT_EQ(ParseSeconds("1."), 1000000000);
  EXPECT_EQ(ParseSeconds(".5E0"), 500000000);
  EXPECT_EQ(ParseSeconds("0e99"), 0);
  EXPECT_EQ(ParseSeconds("1e-40"), 0);
  for (const char* bad :
       {"", ".", "-", "e5", "1e", "1e+", "1e+-5", "1e99999999", "1_0", "NaN", "Inf", "0x10", "1 ",
        "2400000000", "1767225600000", "1e30", "99999999999999999999999"}) {
    EXPECT_EQ(ParseSeconds(bad), std::nullopt) << bad;
  }
}

TEST(OpenMetricsReader, ReadsPrometheusText) {
  EXPECT_THAT(Read("# a comment\n\n  # TYPE c counter\n# HELP c x\n# TYPE u untyped\n"
                   "c {a=\"1\" , b = \"2\",} \t 5  1500000000000\nu 1 -200000000000\t\n  "
                   "c{b=\"2\",a=\"1\"} 6 1500000001000"),
              ElementsAre("c{a=\"1\",b=\"2\"} 5 1500000000000000000", "u 1 -200000000000000000",
                          "c{a=\"1\",b=\"2\"} 6 1500000001000000000"));
}

TEST(OpenMetricsReader, ErrorsIncludeLocationAndCause) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a 1 1\n", "f:1:5: the timestamp 1 is in 1970"},  // a truncated file without # EOF
      {"a 1 1.5\n", "f:1:5: the timestamp \"1.5\" must be in whole milliseconds"},
      {"", "f:1:1: the file does not end with # EOF"},
      {"# EOF\nx\n# EOF\n", "f:2:1: nothing may follow"},
      {"a 1 1\n\n# EOF\n", "f:2:1: OpenMetrics has no empty lines"},
      {"# hello\n# EOF\n", "f:1:3: # must be followed by TYPE"},
      {"a 1\n# EOF\n", "f:1:4: this sample has no timestamp"},
      {"a 1 # {} 1\n# EOF\n", "f:1:4: this sample has no timestamp"},
      {"a  1 1\n# EOF\n", "f:1:3: the value is missing"},
      {"a x 1\n# EOF\n", "f:1:3: the value \"x\" is not a number"},
      {"a 1 1767225600000\n# EOF\n", "f:1:5: the timestamp \"1767225600000\" must be in seconds"},
      {"a 1 1 2\n# EOF\n", "f:1:6: the line should end here"},
      {"a{b=\"1} 1 1\n# EOF\n", "f:1:2: unterminated quoted string in these labels"},
      {"a{b=\"1\" 1 1\n# EOF\n", "f:1:2: expected } after these labels"},
      {"a{b=\"1\",} 1 1\n# EOF\n", "f:1:9: expected a label name"},
      {"a{b=\"1\",b=\"2\"} 1 1\n# EOF\n", "f:1:9: the label \"b\" appears twice"},
      {"a{é=\"1\"} 1 1\n# EOF\n", "f:1:3: expected a label name"},
      {"a{\"é\"=\"1\",1=\"\"} 1 1\n# EOF\n", "f:1:11: expected a label name"},
      {"a{b:c=\"1\"} 1 1\n# EOF\n", "f:1:4: expected ="},
      {"a{__name__=\"x\"} 1 1\n# EOF\n", "f:1:3: __name__ cannot be a label"},
      {"{b=\"1\"} 1 1\n# EOF\n", "f:1:1: the metric name is missing"},
      {"{\"\"} 1 1\n# EOF\n", "f:1:2: expected a label name"},
      {"\"a\" 1 1\n# EOF\n", "f:1:1: a quoted metric name"},
      {"1a 1 1\n# EOF\n", "f:1:1: expected a metric name"},
      {"a{b=\"\xff\"} 1 1\n# EOF\n", "f:1:6: not UTF-8"},
      {"# HELP a \xff\n# EOF\n", "f:1:10: not UTF-8"},
      {"# TYPE a thing\n# EOF\n", "f:1:10: unknown type \"thing\""},
      {"# TYPE a untyped\n# EOF\n", "f:1:10: unknown type \"untyped\""},
      {"# TYPE a gauge\n# TYPE a gauge\n# EOF\n", "f:2:8: a has a second TYPE line"},
      {"a 1 1\n# TYPE a gauge\n# EOF\n", "f:2:8: the TYPE of a comes after its samples"},
      {"# TYPE a gauge\na 1 1\nb 1 1\na 1 2\n# EOF\n", "f:4:1: the samples of a are interleaved"},
      {"# UNIT a_s seconds\n# EOF\n", "f:1:12: the unit \"seconds\""},
      {"# TYPE a counter\na 1 1\n# EOF\n", "f:2:1: the samples of a family of type counter are"},
      {"# TYPE a histogram\na_bucket 1 1\n# EOF\n", "f:2:1: a sample of this histogram needs"},
      {"# TYPE a histogram\na_bucket{le=\"x\"} 1 1\n# EOF\n",
       "f:2:1: the label le must be a number"},
      {"# TYPE a summary\na{quantile=\"2\"} 1 1\n# EOF\n", "f:2:1: the label quantile must be"},
      {"# TYPE a counter\na_total -1 1\n# EOF\n", "f:2:9: a sample that counts cannot be -1"},
      {"# TYPE a counter\na_total NaN 1\n# EOF\n", "f:2:9: a sample that counts cannot be NaN"},
      {"# TYPE a info\na_info 2 1\n# EOF\n", "f:2:8: the value of an info must be 1"},
      {"# TYPE a stateset\na 1 1\n# EOF\n", "f:2:1: a sample of this stateset needs the label a"},
      {"# TYPE a stateset\na{a=\"x\"} 3 1\n# EOF\n",
       "f:2:10: the value of a stateset must be 0 or 1"},
      {"a 1 1 # {b=\"1\"}\n# EOF\n", "f:1:16: unexpected end of line"},
      {"a 1 1\r\n# EOF\n", "f:1:5: the timestamp \"1\\x0d\""},
      {"# TYPE a gauge\n# TYPE a gauge\n",
       "f:2:8: a has a second TYPE line (read as the Prometheus"},
  };
  for (const auto& [text, error] : cases) EXPECT_THAT(ErrorOf(text), HasSubstr(error)) << text;
  // A truncated line yields no sample.
  EXPECT_THAT(ReadIn("a 1 17", 1, Dialect::kOpenMetrics).error,
              HasSubstr("f:1:7: the last line has no line break"));
}

TEST(OpenMetricsReader, EnforcesLimits) {
  EXPECT_THAT(ReadIn("a 1 1\nb 1 1\n# EOF\n", 4, Dialect::kOpenMetrics, {.series = 1}).error,
              HasSubstr("f:2:1: too many series (limit 1)"));
  EXPECT_THAT(ReadIn(std::string(1000, 'a'), 7, Dialect::kOpenMetrics, {.line_bytes = 100}).error,
              HasSubstr("f:1:1: the line is longer than 100 bytes"));
}

TEST(OpenMetricsReader, DetectsDialect) {
  EXPECT_EQ(DialectOf("a 1 1\n# EOF\n"), Dialect::kOpenMetrics);
  EXPECT_EQ(DialectOf("# EOF"), Dialect::kOpenMetrics);
  EXPECT_EQ(DialectOf(""), Dialect::kOpenMetrics);
  EXPECT_EQ(DialectOf("a 1 1000\n"), Dialect::kPrometheusText);
  EXPECT_EQ(DialectOf("a{b=\"# EOF"), Dialect::kPrometheusText);
  EXPECT_EQ(DialectOf("# EOF\n\n"), Dialect::kPrometheusText);
}

}  // namespace
}  // namespace pitwall::openmetrics
