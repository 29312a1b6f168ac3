#include "services/codec/imports/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pitwall::imports {
namespace {

using ::testing::ElementsAre;

class Lines final : public SampleSink {
 public:
  Status NewSeries(uint32_t series, Labels labels, std::string_view mode) override {
    EXPECT_EQ(series, names_.size());
    names_.push_back(Cat(labels.ToString(), mode.empty() ? "" : " ", mode));
    return OkStatus();
  }
  Status Sample(uint32_t series, int64_t time_ns, int64_t step, double value,
                uint32_t line) override {
    all_.push_back(Cat(line, ": ", names_[series], " @", time_ns / 1'000'000, "ms",
                       step == kNoStep ? "" : Cat(" #", step), " ", FormatDouble(value)));
    return OkStatus();
  }
  std::vector<std::string> all_;

 private:
  std::vector<std::string> names_;
};

struct Outcome {
  std::vector<std::string> samples;
  std::string error;
  std::vector<std::string> skipped_rows = {}, skipped_cells = {};
};

// Feeds `text` in pieces of `piece` bytes. `cut` means that the text is from a truncated gzip file.
Outcome Read(std::string_view mapping, std::string_view text, size_t piece = 7,
             const RowLimits& limits = {}, bool cut = false) {
  const auto parsed = ParseMapping("m.yaml", mapping);
  if (!parsed.ok()) return {{}, std::string(ToStd(parsed.status().message()))};
  Lines lines;
  TableReader reader("log", *parsed, "job_id", &lines, limits);
  Status done = OkStatus();
  for (size_t at = 0; at < text.size() && done.ok(); at += piece)
    done = reader.Feed(text.substr(at, piece));
  if (done.ok() && cut) done = reader.SkipCutRow();
  if (done.ok()) done = reader.Finish();
  return {lines.all_, std::string(ToStd(done.message())), reader.skipped_rows().first(),
          reader.skipped_cells().first()};
}

constexpr std::string_view kWide = R"(
time: {column: ts, unit: ms}
step: {column: step}
mode: {column: split}
job: {column: run}
labels: {rank: {column: rank}, cluster: a}
metrics:
- {column: loss, name: train_loss}
- {column: gpu0, name: hw_gpu_utilization_ratio, factor: 0.01, labels: {gpu: "0"}, step: false}
)";

TEST(TableReader, EmptyColumn_IsIgnored) {
  const std::string_view mapping = R"(
time: {column: ts}
metrics:
- {column: loss, name: train_loss}
- {column: eval_loss, name: eval_loss}
)";
  const Outcome csv = Read(mapping, "ts,loss,eval_loss\n1,2,\n2,3,\n");
  EXPECT_EQ(csv.error, "");
  EXPECT_THAT(csv.samples, ElementsAre(R"(2: train_loss @1000ms 2)", R"(3: train_loss @2000ms 3)"));
  const Outcome json = Read(mapping, R"({"ts":1,"loss":2,"eval_loss":null})");
  EXPECT_EQ(json.error, "");
  EXPECT_EQ(json.samples.size(), 1u);
  // A mapped column that is missing from the header is still an error.
  EXPECT_EQ(Read(mapping, "ts,loss\n1,2\n").error,
            "log: no row has these mapped columns: \"eval_loss\"");
}

TEST(TableReader, ReadsOneColumnPerMetric) {
  const std::string_view csv =
      "ts,step,split,run,rank,loss,gpu0,note\r\n"
      "1000,0,train,r1,0,0.5,90,\"a, \"\"b\"\"\nc\"\r\n"
      "\r\n"
      "1500,1,eval,r1,1,NaN,,x\r\n"
      "2000,,,r1,0,,55,\"\"";
  const std::vector<std::string> samples = {
      "2: train_loss{cluster=\"a\",job_id=\"r1\",mode=\"train\",rank=\"0\"} "
      "train "
      "@1000ms #0 0.5",
      "2: hw_gpu_utilization_ratio{cluster=\"a\",gpu=\"0\",job_id=\"r1\",rank=\"0\"} @1000ms 0.9",
      "5: train_loss{cluster=\"a\",job_id=\"r1\",mode=\"eval\",rank=\"1\"} eval @1500ms #1 NaN",
      "6: hw_gpu_utilization_ratio{cluster=\"a\",gpu=\"0\",job_id=\"r1\",rank=\"0\"} @2000ms 0.55"};
  for (const size_t piece : {1, 2, 3, 7, 1000}) {
    SCOPED_TRACE(piece);
    const Outcome outcome = Read(kWide, csv, piece);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.samples, samples);
  }
}

TEST(TableReader, ReadsOneRowPerSampleAndJsonLines) {
  constexpr std::string_view kLong = R"(
time: {start: 1970-01-01T00:00:10Z, every: 500ms}
step: {column: meta.step}
metrics: {name: {column: key}, value: {column: value}, rename: {loss: train_loss}}
)";
  const Outcome outcome =
      Read(kLong,
           "{\"key\": \"loss\", \"value\": 1.5, \"meta\": {\"step\": 3.0}, \"tags\": [1]}\n\n"
           "{\"key\": \"ok\", \"value\": true, \"meta\": {\"step\": 4}}\n"
           "{\"key\": \"loss\", \"value\": -Infinity, \"meta\": {\"step\": 5}}\n"
           "{\"key\": \"loss\", \"value\": null, \"meta\": {\"step\": 6}}");
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples, ElementsAre("1: train_loss{mode=\"train\"} train @11500ms #3 1.5",
                                           "3: ok{mode=\"train\"} train @12000ms #4 1",
                                           "4: train_loss{mode=\"train\"} train @12500ms #5 -Inf"));
}

TEST(TableReader, ReadsLogHistoryOfTrainerState) {
  constexpr std::string_view kTrainer = R"(
time: {start: 0, every: 1s}
rows: state.log_history
step: {column: step}
metrics:
- {column: loss, name: train_loss}
- {column: eval_loss, name: train_loss, mode: eval}
)";
  const Outcome outcome = Read(
      kTrainer,
      R"({"state": {"log_history": [{"loss": 2, "step": 10}, {"eval_loss": NaN, "step": 10}]}})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples, ElementsAre("1: train_loss{mode=\"train\"} train @10000ms #10 2",
                                           "2: train_loss{mode=\"eval\"} eval @10000ms #10 NaN"));
}

TEST(TableReader, ErrorsIncludeLocationAndCause) {
  constexpr std::string_view kSmall =
      "time: {column: t}\nstep: {column: s}\nmetrics: [{column: x}]\n";
  const auto error = [&](std::string_view text, const RowLimits& limits = {}) {
    return Read(kSmall, text, 5, limits).error;
  };
  EXPECT_EQ(error("t,s,x\n1,2\n"), "log:2:1: 2 cells, but the header has 3");
  EXPECT_EQ(error("t,s,x,t\n1,2,3,4\n"), "log:1:1: column \"t\" appears twice");
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(error("t,s,x,t,s,x\n1,2,3,4,5,6\n"), "log:1:1: column \"s\" appears twice");
  EXPECT_EQ(error("t,s,x\n1,2,abc\n"), "log:2:1: column \"x\": \"abc\" is not a number");
  EXPECT_EQ(error("t,s,x\n1,1.5,1\n"),
            "log:2:1: column \"s\": \"1.5\" is not a step (must be a non-negative integer)");
  EXPECT_EQ(error("t,s,x\n1,-1,1\n"),
            "log:2:1: column \"s\": \"-1\" is not a step (must be a non-negative integer)");
  EXPECT_EQ(error("t,s,x\n,1,1\n"),
            "log:2:1: column \"t\": empty is not a time in the mapping's unit");
  EXPECT_EQ(error("t,s,x\n2026-01-01,1,1\n"),
            "log:2:1: column \"t\": \"2026-01-01\" is not a time in the mapping's unit");
  EXPECT_EQ(error("t,s,x\n2026-01-01 00:00:00,1,1\n"),
            "log:2:1: column \"t\": \"2026-01-01 00:00:00\" is not a time in the mapping's unit; "
            "dates need unit: datetime");
  EXPECT_EQ(error("t,s,x\n1,1,\"1\n"), "log:2:1: a quoted cell is not closed");
  EXPECT_EQ(error("\"t,s,x\n1,1,1\n"), "log:1:1: a quoted cell is not closed");
  EXPECT_EQ(error("t,s,x\n1,1,\"1\"2\n"), "log:2:1: unexpected text after a quoted cell");
  EXPECT_EQ(error("t,y\n1,1\n"), "log: no row has these mapped columns: \"s\", \"x\"");
  EXPECT_EQ(error("{\"t\": \n"), "log:1:1: not a JSON object");
  EXPECT_EQ(error("[1]"), "log:1:1: not a JSON object");
  EXPECT_EQ(error("t,s,x\n1,1,11111111\n", {.row_bytes = 8}),
            "log:2:1: row is longer than 8 bytes");
  EXPECT_EQ(error("t,s,xxxxxxxxx\n", {.row_bytes = 8}),
            "log:1:1: row or document is longer than 8 bytes");
  for (const size_t piece : {1, 2, 100}) {
    EXPECT_THAT(Read(kSmall, "\xff\xfet", piece).error, ::testing::HasSubstr("UTF-16"));
    EXPECT_EQ(Read(kSmall, "\xef\xbb\xbf\xfe\xff,s,x\n1,1,1\n", piece).error,
              "log: no row has these mapped columns: \"t\"");
  }
  EXPECT_EQ(error("[1,2,3,4,5]", {.document_bytes = 8}),
            "log:1:1: row or document is longer than 8 bytes");
  EXPECT_EQ(error("a\n"), "log: no row has these mapped columns: \"s\", \"t\", \"x\"");
  EXPECT_EQ(error(""), "log: the file is empty");
}

TEST(TableReader, MissingColumn_SuggestsSimilarName) {
  const auto error = [](std::string_view header) {
    return Read("time: {column: time}\nmetrics: [{column: utilization.gpu}]\n",
                Cat(header, "\n1,2\n"))
        .error;
  };
  const std::string_view begin = "log: no row has these mapped columns: ";
  EXPECT_EQ(error("time, utilization.gpu [%]"),
            Cat(begin, "\"utilization.gpu\" (did you mean \"utilization.gpu [%]\"?)"));
  EXPECT_EQ(error("Time,utilization.gpu"), Cat(begin, "\"time\" (did you mean \"Time\"?)"));
  EXPECT_EQ(error("time,utilizazion.gpu"),
            Cat(begin, "\"utilization.gpu\" (did you mean \"utilizazion.gpu\"?)"));
  EXPECT_EQ(error("time,power"), Cat(begin, "\"utilization.gpu\""));
  EXPECT_EQ(Read("time: {column: t}\nmetrics: [{column: loss}]\n", "{\"t\":1,\"Loss\":2}").error,
            Cat(begin, "\"loss\" (did you mean \"Loss\"?)"));
}

// nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used,power.draw --format=csv
TEST(TableReader, RawNvidiaSmiOutput_IsRead) {
  constexpr std::string_view kSmi = R"(
time: {column: timestamp, unit: datetime, zone: "+01:00"}
labels: {gpu: {column: index}}
metrics:
- {column: "utilization.gpu [%]", name: hw_gpu_utilization_ratio}
- {column: "memory.used [MiB]", name: hw_gpu_memory_usage_bytes}
- {column: "power.draw [W]", name: watts, factor: 1}
)";
  constexpr std::string_view kText =
      "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
      "1970/01/01 01:00:01.500, 0, 45 %, 2 MiB, 68.25 W\n"
      "1970/01/01 01:00:01.500, 1, [N/A], [Not Supported], [Unknown Error]\n"
      "1970/01/01 01:00:02.500, 0, 50 %, 1 GiB, ERR!\n";
  for (const size_t piece : {1, 7, 1000}) {
    const Outcome outcome = Read(kSmi, kText, piece);
    EXPECT_EQ(outcome.error, "");
    EXPECT_THAT(outcome.samples,
                ElementsAre("2: hw_gpu_utilization_ratio{gpu=\"0\"} @1500ms 0.45",
                            "2: hw_gpu_memory_usage_bytes{gpu=\"0\"} @1500ms 2097152",
                            "2: watts{gpu=\"0\"} @1500ms 68.25",
                            "4: hw_gpu_utilization_ratio{gpu=\"0\"} @2500ms 0.5",
                            "4: hw_gpu_memory_usage_bytes{gpu=\"0\"} @2500ms 1073741824"));
    EXPECT_THAT(outcome.skipped_cells, ::testing::IsEmpty());
  }
}

TEST(TableReader, PercentagesWithFactor_AreNotScaledTwice) {
  const std::string_view mapping =
      "time: {column: t}\nmetrics: [{column: u, name: ratio, factor: 0.01}]\n";
  EXPECT_EQ(Read(mapping, "t,u\n1,45 %\n").samples, Read(mapping, "t,u\n1,45\n").samples);
}

constexpr std::string_view kLoss = "time: {column: t}\nmetrics: [{column: x}]\n";

TEST(TableReader, InvalidRows_AreSkippedAndReportedWithLocation) {
  for (const size_t piece : {1, 5, 1000}) {
    SCOPED_TRACE(piece);
    const Outcome rows = Read(kLoss, "t,x\n1,1\n2,2,2\noops\n4,4\n5\n", piece);
    EXPECT_EQ(rows.error, "");
    EXPECT_THAT(rows.samples, ElementsAre("2: x @1000ms 1", "5: x @4000ms 4"));
    EXPECT_THAT(rows.skipped_rows, ElementsAre("log:3:1: 3 cells, but the header has 2",
                                               "log:4:1: 1 cells, but the header has 2",
                                               "log:6:1: 1 cells, but the header has 2"));
    const Outcome json =
        Read(kLoss, "{\"t\":1,\"x\":1}\n{\"t\":2,\"x\n[]\n{\"t\":4,\"x\":4}\n{\"t\":", piece);
    EXPECT_EQ(json.error, "");
    EXPECT_THAT(json.samples, ElementsAre("1: x @1000ms 1", "4: x @4000ms 4"));
    EXPECT_THAT(json.skipped_rows,
                ElementsAre("log:2:1: not a JSON object", "log:3:1: not a JSON object",
                            "log:5:1: not a JSON object"));
  }
}

TEST(TableReader, NonNumericCell_OtherCellsInRowAreRead) {
  const Outcome outcome = Read("time: {column: t}\nmetrics: [{column: x}, {column: y}]\n",
                               "t,x,y\n1,1,1\n2,tensor(2.),2\n3,3,3\n");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.samples.size(), 5u);
  EXPECT_THAT(outcome.skipped_cells,
              ElementsAre("log:3:1: column \"x\": \"tensor(2.)\" is not a number"));
}

TEST(TableReader, StrayQuote_InvalidatesOnlyItsLine) {
  for (const size_t piece : {1, 5, 1000}) {
    SCOPED_TRACE(piece);
    const Outcome end = Read(kLoss, "t,x\n1,1\n2,\"2\n3,3\n4,4\n", piece);
    EXPECT_EQ(end.error, "");
    EXPECT_THAT(end.samples, ElementsAre("2: x @1000ms 1", "4: x @3000ms 3", "5: x @4000ms 4"));
    EXPECT_THAT(end.skipped_rows, ElementsAre("log:3:1: a quoted cell is not closed"));
    const Outcome middle = Read(kLoss, "t,x\n1,1\n2,\"2\n3,\"3\n4,4\n", piece);
    EXPECT_THAT(middle.samples, ElementsAre("2: x @1000ms 1", "5: x @4000ms 4"));
    EXPECT_EQ(middle.skipped_rows.size(), 2u);
    const Outcome long_row =
        Read(kLoss, "t,x\n1,1\n2,\"2\n3,3\n4,4\n5,5\n", piece, {.row_bytes = 8});
    EXPECT_EQ(long_row.samples.size(), 4u);
  }
}

TEST(TableReader, QuotesJoinLines_LaterLinesAreReread) {
  for (const size_t piece : {1, 5, 1000}) {
    SCOPED_TRACE(piece);
    const Outcome outcome = Read(kLoss, "t,x\n1,1\n\"2,2\n3,3\n4,4\"\n5,5\n", piece);
    EXPECT_EQ(outcome.error, "");
    EXPECT_THAT(outcome.samples, ElementsAre("2: x @1000ms 1", "4: x @3000ms 3", "6: x @5000ms 5"));
    EXPECT_THAT(outcome.skipped_rows, ElementsAre("log:3:1: 1 cells, but the header has 2"));
  }
}

TEST(TableReader, TruncatedInput_IncompleteLastRowIsSkipped) {
  const auto read = [](std::string_view text) { return Read(kLoss, text, 7, {}, /*cut=*/true); };
  const Outcome csv = read("t,x\n1,1\n2,2");
  EXPECT_EQ(csv.error, "");
  EXPECT_THAT(csv.samples, ElementsAre("2: x @1000ms 1"));
  EXPECT_THAT(csv.skipped_rows, ElementsAre("log:3:1: the input is truncated in this row"));
  const Outcome json = read("{\"t\":1,\"x\":1}\n{\"t\":2,\"x\":2}");
  EXPECT_EQ(json.error, "");
  EXPECT_THAT(json.samples, ElementsAre("1: x @1000ms 1"));
  EXPECT_THAT(json.skipped_rows, ElementsAre("log:2:1: the input is truncated in this row"));
  const Outcome whole_rows = read("t,x\n1,1\n");
  EXPECT_EQ(whole_rows.samples.size(), 1u);
  EXPECT_THAT(whole_rows.skipped_rows, ::testing::IsEmpty());
  EXPECT_EQ(read("t,x").error, "log:1:1: the input is truncated in this row");
}

TEST(TableReader, RepeatedHeader_AppliesToFollowingRows) {
  const Outcome outcome = Read(kLoss, "t,x\n1,1\nt,x\n2,2\nx,t\n3,4\n");
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples, ElementsAre("2: x @1000ms 1", "4: x @2000ms 2", "6: x @4000ms 3"));
  EXPECT_THAT(outcome.skipped_rows, ::testing::IsEmpty());
}

TEST(TableReader, EmptyRow_IsNotHeader) {
  const Outcome outcome = Read(kLoss, ",t,x\n0,1,1\n,,\n2,3,3\n");
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples, ElementsAre("2: x @1000ms 1", "4: x @3000ms 3"));
  EXPECT_EQ(outcome.skipped_rows.size(), 1u);
}

TEST(TableReader, UnusedColumn_IsNotValidated) {
  const Outcome outcome = Read(kLoss, " t ,x, y,y,\n1,1,a,b,\n2,2,c,d,\n");
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples, ElementsAre("2: x @1000ms 1", "3: x @2000ms 2"));
}

TEST(TableReader, SkippedRowsAreCounted_TimesStayCorrect) {
  const Outcome outcome =
      Read("time: {start: 0, every: 1s}\nmetrics: [{column: x}]\n", "x,y\n1,1\n2\n3,3\n");
  EXPECT_THAT(outcome.samples, ElementsAre("2: x @0ms 1", "4: x @2000ms 3"));
}

TEST(TableReader, TrailingNulBytes_AreSkipped) {
  const std::string text = Cat("t,x\n1,1\n", std::string(64, '\0'));
  const Outcome outcome = Read(kLoss, text, 7, {.row_bytes = 32});
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples, ElementsAre("2: x @1000ms 1"));
}

TEST(TableReader, MissingStep_SampleHasNoStep) {
  const Outcome outcome = Read("time: {column: t}\nstep: {column: s}\nmetrics: [{column: x}]\n",
                               "t,s,x\n1,nan,1\n2,None,2\n");
  EXPECT_THAT(outcome.samples, ElementsAre("2: x @1000ms 1", "3: x @2000ms 2"));
}

TEST(TableReader, TruncatedDocument_CompleteRowsAreRead) {
  const Outcome outcome = Read(kLoss, "[{\"t\":1,\"x\":1},\n{\"t\":2,\"x\":2},\n{\"t\":3,\"x");
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.samples, ElementsAre("1: x @1000ms 1", "2: x @2000ms 2"));
  EXPECT_THAT(outcome.skipped_rows, ElementsAre("log:3:1: the document is truncated"));
}

TEST(Mapping, ErrorsIncludeLocationAndCause) {
  EXPECT_EQ(Read("time: {unit: h}\nmetrics: [{name: x}]\nlabels: {a: {}}\ntypo: 1\n", "").error,
            "m.yaml:1:8: \"unit\" must be s, ms, us, ns, rfc3339, or datetime, found \"h\"\n"
            "m.yaml:1:7: \"time\" needs a column, or start and every\n"
            "m.yaml:3:13: a label must be a string or {column: NAME}\n"
            "m.yaml:2:11: a metric needs \"column\"\n"
            "m.yaml:4:1: unknown key \"typo\" in the mapping");
  EXPECT_EQ(Read("metrics: []\nstep: 5\n", "").error,
            "m.yaml:1:1: the mapping needs \"time\"\n"
            "m.yaml:2:1: \"step\" must name a column\n"
            "m.yaml:1:10: \"metrics\" is empty");
}

TEST(Mapping, InvalidOrUnusedZone_ReturnsError) {
  EXPECT_EQ(
      Read("time: {column: t, unit: datetime, zone: CET}\nmetrics: [{column: x}]\n", "").error,
      "m.yaml:1:35: \"zone\" must be UTC or an offset like +09:00, found \"CET\"");
  EXPECT_EQ(Read("time: {column: t, zone: UTC}\nmetrics: [{column: x}]\n", "").error,
            "m.yaml:1:19: \"zone\" is for unit: datetime");
}

TEST(Mapping, ReadsTimesInEachUnit) {
  EXPECT_EQ(ParseTime("1600000000.25", TimeUnit::kSeconds), 1'600'000'000'250'000'000);
  EXPECT_EQ(ParseTime("1600000000250", TimeUnit::kMillis), 1'600'000'000'250'000'000);
  EXPECT_EQ(ParseTime("1600000000250000", TimeUnit::kMicros), 1'600'000'000'250'000'000);
  EXPECT_EQ(ParseTime("1600000000250000001", TimeUnit::kNanos), 1'600'000'000'250'000'001);
  EXPECT_EQ(ParseTime("1.5", TimeUnit::kMillis), 1'500'000);
  EXPECT_EQ(ParseTime("2020-09-13T12:26:40.25Z", TimeUnit::kRfc3339), 1'600'000'000'250'000'000);
  for (const TimeUnit unit :
       {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kNanos, TimeUnit::kRfc3339}) {
    EXPECT_EQ(ParseTime("", unit), std::nullopt);
    EXPECT_EQ(ParseTime("nan", unit), std::nullopt);
    EXPECT_EQ(ParseTime("99999999999999999999", unit), std::nullopt);
  }
}

TEST(TableReader, ByteOrderMark_IsSkipped) {
  for (const size_t piece : {1, 2, 3, 100}) {
    const Outcome outcome =
        Read("time: {column: ts}\nmetrics: [{column: loss}]", "\xef\xbb\xbfts,loss\n1,2\n", piece);
    EXPECT_EQ(outcome.error, "") << piece;
    EXPECT_THAT(outcome.samples, ElementsAre("2: loss @1000ms 2")) << piece;
  }
}

TEST(TableReader, SecondByteOrderMark_IsText) {
  const std::string whole =
      Read("time: {column: ts}\nmetrics: [{column: loss}]", "\xef\xbb\xbf\xef\xbb\xbf[]", 100)
          .error;
  EXPECT_NE(whole, "");
  for (const size_t piece : {1, 2, 3, 4, 6})
    EXPECT_EQ(
        Read("time: {column: ts}\nmetrics: [{column: loss}]", "\xef\xbb\xbf\xef\xbb\xbf[]", piece)
            .error,
        whole)
        << piece;
}

}  // namespace
}  // namespace pitwall::imports
