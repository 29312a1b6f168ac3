// `pitwall backtest`: the streaming engine over recorded data, as fast as the machine can.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/time/time.h"
#include "rules/plan/compile.h"
#include "services/base/duration.h"
#include "services/base/epoch_lint.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/openmetrics/line_parser.h"
#include "services/offline/backtest/backtest.h"
#include "services/pitwall/backtest_formats.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/rule_files.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

StatusOr<int64_t> TimeFlag(const Flags& flags, std::string_view name, int64_t otherwise) {
  const auto text = flags.One(name);
  if (!text.has_value()) return otherwise;
  if (const auto seconds = openmetrics::ParseSeconds(*text)) {
    if (const auto doubt = DateTakenForSeconds(*text))
      return InvalidArgument(Cat("--", name, " ", *text, ": ", *doubt));
    return *seconds;
  }
  absl::Time time;
  std::string wrong;
  if (absl::ParseTime(absl::RFC3339_full, *text, &time, &wrong)) {
    const int64_t nanos = absl::ToUnixNanos(time);
    if (nanos > kMinPosition && nanos < kMaxPosition) return nanos;
  }
  return InvalidArgument(
      Cat("--", name, " ", *text,
          ": expected Unix seconds or a time like 2026-01-31T12:00:00Z, before the year 2043"));
}

// Without status events on stdout: rules in Error, which judge nothing, must not look healthy. One
// line a job and rule.
void TellErrors(const std::vector<IssueEvent>& events) {
  constexpr size_t kShown = 20;
  std::set<std::pair<std::string, std::string>> told;
  for (const IssueEvent& event : events) {
    if (event.type != EventType::kRuleStatus || event.status != RuleStatus::kError) continue;
    if (!told.emplace(event.job, event.rule).second || told.size() > kShown) continue;
    PrintError(TerminalLine(Cat("pitwall backtest: job ", event.job, ": rule ", event.rule,
                                " is in Error: ", event.status_reason)) +
               "\n");
  }
  if (told.size() > kShown)
    PrintError(Cat("pitwall backtest: and ", told.size() - kShown, " more rules in Error\n"));
}

StatusOr<int> Backtest(const Flags& flags) {
  const std::string format = flags.One("format").value_or("log");
  if (flags.Has("verify")) {
    if (format != "log") return InvalidArgument("--verify is for --format log");
    return VerifyLog(flags);
  }
  BacktestRange range;
  ASSIGN_OR_RETURN(std::vector<IssueEvent> events, Replay(flags, &range, nullptr));
  if (flags.Has("no-status")) TellErrors(events);
  std::erase_if(events, [&](const IssueEvent& e) {
    // Files of samples tell of no life of a job.
    return (flags.Has("no-status") && e.type == EventType::kRuleStatus) ||
           (e.type == EventType::kJobChanged && (format != "log" || flags.Has("no-status"))) ||
           (format == "log" && (e.time_ns < range.start || e.time_ns > range.end));
  });
  offline::SortEvents(&events);
  for (const IssueEvent& event : events) {
    PrintJson(cloudevents::EncodeCloudEvent(event) + "\n");
  }
  for (const std::string& damage : range.damage)
    PrintError(TerminalLine(Cat("pitwall backtest: ", damage)) + "\n");
  return range.damage.empty() ? kFine : kCheckFailed;
}

}  // namespace

const std::vector<FlagSpec>& BacktestFlags() {
  static const std::vector<FlagSpec> specs = {
      {"format", Kind::kOne, "FORMAT",
       "log (the default), openmetrics, csv (also JSON), smdebug, chrome-trace or tensorflow"},
      {"input", Kind::kMany, "PATH",
       "log: data directory of a `pitwall standalone`; else files, merged by time; smdebug, "
       "chrome-trace and tensorflow: also folders, one per job"},
      {"mapping", Kind::kOne, "FILE", "csv: what the columns mean (docs/backtest.md)"},
      {"duplicates", Kind::kOne, "WHICH",
       "files: of two values of one series at one time refuse the file (the default), or take the "
       "first or the last"},
      {"brokers", Kind::kOne, "HOSTS",
       "log: instead the topics of this Apache Kafka (host:port,…)"},
      {"rules", Kind::kMany, "FILE", "log: instead of the rule sets that the log recorded"},
      {"overrides", Kind::kOne, "FILE", "with --rules: parameters per job"},
      {"baseline", Kind::kMany, "PATH",
       "with --rules: summaries of finished jobs (pitwall baseline), and folders with them"},
      {"evaluation-interval", Kind::kOne, "DURATION",
       "with --rules: of groups without an interval (1m)"},
      {"job", Kind::kOne, "ID",
       "log: only this job's events; else the job of samples without the label "
       "pitwall_job (the name of the file or folder)"},
      {"start", Kind::kOne, "TIME",
       "files: rules are evaluated from here on, older samples fill windows; log: only "
       "events from here on. Unix seconds or RFC 3339"},
      {"end", Kind::kOne, "TIME", "files: without samples after it; log: only events up to it"},
      {"output", Kind::kOne, "DIR",
       "log: also write the log with these events into this new data directory, for `pitwall "
       "insights --data-dir DIR` to show"},
      {"end-job", Kind::kSwitch, "", "jobs end with the data; else open issues stay open"},
      {"verify", Kind::kSwitch, "",
       "log: print nothing but whether its own pitwall.issues says the same, to the bit"},
      {"no-status", Kind::kSwitch, "",
       "issues only, no status changes of rules; those in Error are told on stderr"},
      {"help", Kind::kSwitch, "", "this text"},
  };
  return specs;
}

StatusOr<std::vector<IssueEvent>> Replay(const Flags& flags, BacktestRange* range,
                                         engine::RecordingObserver* recordings) {
  const std::string format = flags.One("format").value_or("log");
  if (!flags.positional().empty()) {
    return InvalidArgument(
        Cat(Quote(flags.positional()[0]), " belongs to no flag: give files as --input FILE…"));
  }
  constexpr std::string_view kFormats[] = {"log",     "openmetrics",  "csv",
                                           "smdebug", "chrome-trace", "tensorflow"};
  if (std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats))
    return InvalidArgument(
        Cat("--format ", format,
            ": only log, openmetrics, csv, smdebug, chrome-trace and tensorflow can be read"));
  if (format != "csv" && flags.Has("mapping"))
    return InvalidArgument("--mapping is for --format csv");
  ASSIGN_OR_RETURN(range->start, TimeFlag(flags, "start", range->start));
  ASSIGN_OR_RETURN(range->end, TimeFlag(flags, "end", range->end));
  if (range->start > range->end) return InvalidArgument("--start must not be later than --end");
  if (format == "log" && flags.Has("evaluation-interval") && !flags.Has("rules"))
    return InvalidArgument("--evaluation-interval is for --rules: the log's own sets have theirs");
  if (format == "log" && flags.Has("baseline") && !flags.Has("rules"))
    return InvalidArgument("--baseline is for --rules: the log's own sets have theirs");
  if (format != "log" && flags.Has("output"))
    return InvalidArgument("--output is for --format log: files have no telemetry to write");
  if (flags.Has("output") && (flags.Has("job") || flags.Has("start") || flags.Has("end")))
    return InvalidArgument("--output writes the whole log: it takes no --job, --start or --end");
  if (format == "log" && flags.Has("duplicates"))
    return InvalidArgument("--duplicates is for files: a log has none");
  ReadInput read = ReadOpenMetrics;
  if (format == "smdebug") read = ReadDebuggerOutput;
  if (format == "chrome-trace") read = ReadChromeTraces;
  if (format == "tensorflow") read = ReadTensorflowProfiles;
  if (format == "csv") {
    ASSIGN_OR_RETURN(read, TableInput(flags));
  }
  return format == "log" ? BacktestLog(flags, range, recordings)
                         : BacktestFiles(flags, *range, read, recordings);
}

StatusOr<int64_t> EvaluationInterval(const Flags& flags) {
  const auto text = flags.One("evaluation-interval");
  if (!text.has_value()) return plan::kDefaultInterval;
  const auto interval = ParseDuration(*text);
  RETURN_IF_ERROR(Annotate(interval.status(), "--evaluation-interval"));
  if (*interval <= 0) return InvalidArgument("--evaluation-interval must be greater than 0");
  return *interval;
}

StatusOr<engine::CompiledRulesPtr> ReadGivenRules(const Flags& flags,
                                                  const plan::RewriteRules& rewrite) {
  ASSIGN_OR_RETURN(const int64_t interval, EvaluationInterval(flags));
  return CompileNewRules({.files = flags.Many("rules"),
                          .overrides = flags.One("overrides").value_or(""),
                          .baselines = flags.Many("baseline")},
                         interval, {.rewrite = rewrite});
}

int RunBacktest(const std::vector<std::string>& arguments) {
  auto flags = Flags::Parse(BacktestFlags(), arguments);
  if (flags.ok() && flags->Has("help")) {
    Print(
        Cat("pitwall backtest --input DIR | --brokers HOSTS [flags]\n"
            "pitwall backtest --format openmetrics --rules FILE… --input FILE… [flags]\n"
            "pitwall backtest --format csv --mapping FILE --rules FILE… --input FILE… [flags]\n"
            "pitwall backtest --format smdebug|chrome-trace|tensorflow --rules FILE… --input DIR… "
            "[flags]\n",
            FlagHelp(BacktestFlags())));
    return kFine;
  }
  StatusOr<int> code = flags.ok() ? StatusOr<int>(kUsage) : StatusOr<int>(flags.status());
  if (flags.ok()) code = Backtest(*flags);
  if (code.ok()) return *code;
  PrintError(Cat("pitwall backtest: ", ToStd(code.status().message()), "\n"));
  return kUsage;
}

}  // namespace pitwall
