// Backtest of recorded files: merges the samples of all inputs and evaluates the rules over them.
#include <optional>

#include "absl/time/time.h"
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/offline/at_offset_rewrite.h"
#include "services/offline/backtest/backtest.h"

namespace pitwall {

namespace {

StatusOr<offline::Duplicates> DuplicatesFlag(const Flags& flags) {
  const std::string given = flags.One("duplicates").value_or("refuse");
  if (given == "refuse") return offline::Duplicates::kRefuse;
  if (given == "first") return offline::Duplicates::kFirst;
  if (given == "last") return offline::Duplicates::kLast;
  return InvalidArgument(
      Cat("--duplicates: must be refuse, first, or last (got ", Quote(given), ")"));
}

std::string SecondsText(int64_t time_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(time_ns),
                          absl::UTCTimeZone());
}

// Returns an error if no input contains samples, because a backtest without samples must not appear
// to succeed.
Status CheckSamples(const offline::Recording& recording, const std::vector<std::string>& empty,
                    std::string_view hint) {
  if (recording.samples() > 0) {
    for (const std::string& path : empty)
      PITWALL_LOG(kWarning, "backtest", path, ": no samples: ", hint);
    return OkStatus();
  }
  if (recording.left_out() == 0)
    return InvalidArgument(Cat(Join(empty, ", "), ": no samples: ", hint));
  return InvalidArgument(Cat("--start, --end: exclude all ", recording.left_out(),
                             " samples (from ", SecondsText(recording.first()), " to ",
                             SecondsText(recording.last()),
                             "); specify a range that includes them"));
}

}  // namespace

StatusOr<std::vector<IssueEvent>> BacktestFiles(const Flags& flags, const BacktestRange& range,
                                                const imports::Format& format,
                                                engine::RecordingObserver* recordings) {
  ASSIGN_OR_RETURN(const ReadInput read, FormatInput(format, flags));
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
  RETURN_IF_ERROR(CheckSamples(recording, empty, format.no_samples));
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
