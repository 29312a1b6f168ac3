// Reader for `--format openmetrics`, and functions shared by all file formats.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/codec/openmetrics/reader.h"
#include "services/offline/at_offset_rewrite.h"
#include "services/offline/backtest/backtest.h"

namespace pitwall {

namespace {

constexpr size_t kPiece = size_t{1} << 20;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

class SeriesIntoRecording final : public openmetrics::SampleSink {
 public:
  explicit SeriesIntoRecording(offline::Recording* recording) : recording_(recording) {}
  Status NewSeries(uint32_t series, Labels labels) override {
    return recording_->AddSeries(series, labels);
  }
  Status Sample(uint32_t series, int64_t time_ns, double value, uint32_t line) override {
    return recording_->AddSample(series, time_ns, value, line);
  }

 private:
  offline::Recording* const recording_;
};

// Detects the dialect from the end of the file. A non-seekable file must be in OpenMetrics format.
openmetrics::Dialect DialectOf(std::FILE* file) {
  if (std::fseek(file, 0, SEEK_END) != 0) return openmetrics::Dialect::kOpenMetrics;
  const long size = std::ftell(file);
  std::fseek(file, std::max(0L, size - 16), SEEK_SET);
  char end[16];
  const size_t n = std::fread(end, 1, sizeof(end), file);
  std::rewind(file);
  return openmetrics::DialectOf({end, n});
}

StatusOr<offline::Duplicates> DuplicatesFlag(const Flags& flags) {
  const std::string given = flags.One("duplicates").value_or("refuse");
  if (given == "refuse") return offline::Duplicates::kRefuse;
  if (given == "first") return offline::Duplicates::kFirst;
  if (given == "last") return offline::Duplicates::kLast;
  return InvalidArgument(
      Cat("--duplicates: must be refuse, first, or last (got ", Quote(given), ")"));
}

// Returns a likely reason why an input contains no samples.
std::string_view NoSamplesHint(std::string_view format) {
  if (format == "csv") return "no row has a value in a column that the mapping's metrics name";
  if (format == "chrome-trace")
    return "a trace has samples only if steps (prof.step() after each one), phases, or collectives "
           "are marked";
  if (format == "tensorflow")
    return "a profile has samples only if steps are marked: "
           "tf.profiler.experimental.Trace(\"train\", step_num=N, _r=1), or "
           "jax.profiler.StepTraceAnnotation";
  if (format == "smdebug") return "the files have neither rows of known metrics nor events";
  return "there is no line with a value and a timestamp";
}

std::string SecondsText(int64_t time_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(time_ns),
                          absl::UTCTimeZone());
}

// Returns an error if no input contains samples, because a backtest without samples must not appear
// to succeed.
Status CheckSamples(const offline::Recording& recording, const std::vector<std::string>& empty,
                    std::string_view format) {
  if (recording.samples() > 0) {
    for (const std::string& path : empty)
      PITWALL_LOG(kWarning, "backtest", path, ": no samples: ", NoSamplesHint(format));
    return OkStatus();
  }
  if (recording.left_out() == 0)
    return InvalidArgument(Cat(Join(empty, ", "), ": no samples: ", NoSamplesHint(format)));
  return InvalidArgument(Cat("--start, --end: exclude all ", recording.left_out(),
                             " samples (from ", SecondsText(recording.first()), " to ",
                             SecondsText(recording.last()),
                             "); specify a range that includes them"));
}

}  // namespace

Status ForEachPiece(const std::string& path, const std::function<Status(std::string_view)>& feed) {
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return ErrnoStatus(errno, path);
  std::vector<char> piece(kPiece);
  while (true) {
    const size_t n = std::fread(piece.data(), 1, piece.size(), file.get());
    if (n == 0) break;
    RETURN_IF_ERROR(feed({piece.data(), n}));
  }
  if (std::ferror(file.get())) return ErrnoStatus(errno, path);
  return OkStatus();
}

Status ReadOpenMetrics(const std::string& path, offline::Recording* recording) {
  openmetrics::Dialect dialect = openmetrics::Dialect::kOpenMetrics;
  if (const File file(std::fopen(path.c_str(), "rb"), std::fclose); file != nullptr)
    dialect = DialectOf(file.get());
  SeriesIntoRecording sink(recording);
  lenient::SkippedRecords skipped("line");
  openmetrics::Reader reader(path, dialect, &sink, {}, &skipped);
  RETURN_IF_ERROR(ForEachPiece(path, [&](std::string_view piece) { return reader.Feed(piece); }));
  return reader.Finish();
}

StatusOr<std::vector<IssueEvent>> BacktestFiles(const Flags& flags, const BacktestRange& range,
                                                const ReadInput& read,
                                                engine::RecordingObserver* recordings) {
  const std::vector<std::string> inputs = flags.Many("input");
  if (inputs.empty()) return InvalidArgument("--input: value is missing; specify --input FILE…");
  if (flags.Has("brokers")) return InvalidArgument("--brokers: requires --format log");
  ASSIGN_OR_RETURN(const int64_t interval, EvaluationInterval(flags));
  const auto given = [](int64_t time, int64_t absent) {
    return time == absent ? std::nullopt : std::optional(time);
  };
  offline::OtherTimes other_times;
  ASSIGN_OR_RETURN(auto rules, ReadGivenRules(flags, [&](const auto& files) {
                     return offline::RewriteOtherTimes(files, given(range.start, kMinPosition),
                                                       given(range.end, kMaxPosition), interval,
                                                       &other_times);
                   }));
  int64_t from = kMinPosition;
  if (range.start != kMinPosition)
    from = std::max(kMinPosition, range.start - offline::HistoryOf(*rules));
  offline::Recording recording(from, range.end, std::move(other_times));
  ASSIGN_OR_RETURN(const offline::Duplicates duplicates, DuplicatesFlag(flags));
  recording.set_duplicates(duplicates);
  std::vector<std::string> empty;
  for (std::string path : inputs) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();  // remove trailing slashes
    recording.BeginInput(path, flags.One("job").value_or(BaseName(path)));
    const uint64_t before = recording.samples() + recording.left_out();
    RETURN_IF_ERROR(read(path, &recording));
    if (recording.samples() + recording.left_out() == before) empty.push_back(path);
  }
  RETURN_IF_ERROR(CheckSamples(recording, empty, flags.One("format").value_or("")));
  RETURN_IF_ERROR(recording.Finish(range.start));
  std::vector<IssueEvent> events;
  engine::EngineCounters counters;
  RETURN_IF_ERROR(offline::RunBacktest(
      &recording, std::move(rules),
      {.start = range.start, .end_jobs = flags.Has("end-job"), .recordings = recordings}, &counters,
      &events));
  PITWALL_LOG(kInfo, "backtest", "read ", recording.samples(), " samples in ",
              recording.series().size(), " series for ", recording.jobs().size(), " jobs from ",
              inputs.size(), " files; skipped ", recording.left_out(),
              " samples outside the range; ran ", counters.evaluations, " evaluations");
  if (recording.replaced() > 0)
    PITWALL_LOG(kWarning, "backtest", recording.replaced(),
                " samples conflicted with another sample at the same timestamp; --duplicates ",
                flags.One("duplicates").value_or(""), " kept one sample per timestamp");
  for (size_t i = 0; i < counters.drops.size(); ++i) {
    if (counters.drops[i] == 0) continue;
    PITWALL_LOG(kWarning, "backtest", counters.drops[i],
                " samples were not evaluated: ", engine::kDropNames[i]);
  }
  return events;
}

}  // namespace pitwall
