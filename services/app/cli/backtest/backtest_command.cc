// Command `pitwall backtest`: runs the streaming engine over recorded data.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/time/time.h"
#include "rules/plan/compile.h"
#include "services/app/cli/backtest/backtest_commands.h"
#include "services/app/cli/backtest/backtest_formats.h"
#include "services/app/config/rule_files.h"
#include "services/base/duration.h"
#include "services/base/epoch_lint.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/openmetrics/line_parser.h"
#include "services/offline/backtest/backtest.h"

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
  return InvalidArgument(Cat("--", name,
                             ": must be Unix seconds or a time like 2026-01-31T12:00:00Z, before "
                             "the year 2043 (got ",
                             Quote(*text), ")"));
}

// Prints one line per job and rule in the Error state. With --no-status, such rules would otherwise
// look healthy: they evaluate nothing, and stdout has no status events.
void PrintRulesInError(const std::vector<IssueEvent>& events) {
  constexpr size_t kShown = 20;
  std::set<std::pair<std::string, std::string>> seen;
  for (const IssueEvent& event : events) {
    if (event.type != EventType::kRuleStatus || event.status != RuleStatus::kError) continue;
    if (!seen.emplace(event.job, event.rule).second || seen.size() > kShown) continue;
    PrintError(TerminalLine(Cat("pitwall backtest: job ", event.job, ": rule ", event.rule,
                                " is in Error: ", event.status_reason)) +
               "\n");
  }
  if (seen.size() > kShown)
    PrintError(Cat("pitwall backtest: ", seen.size() - kShown, " more rules are in Error\n"));
}

StatusOr<int> Backtest(const Flags& flags) {
  const std::string format = flags.One("format").value_or("log");
  if (flags.Has("verify")) {
    if (format != "log")
      return InvalidArgument(Cat("--verify: requires --format log (got ", Quote(format), ")"));
    return VerifyLog(flags);
  }
  BacktestRange range;
  ASSIGN_OR_RETURN(std::vector<IssueEvent> events, Replay(flags, &range, nullptr));
  if (flags.Has("no-status")) PrintRulesInError(events);
  std::erase_if(events, [&](const IssueEvent& e) {
    // Sample files contain no job lifecycle events.
    return (flags.Has("no-status") && e.type == EventType::kRuleStatus) ||
           (e.type == EventType::kJobChanged && (format != "log" || flags.Has("no-status"))) ||
           (format == "log" && (e.time.ns() < range.start || e.time.ns() > range.end));
  });
  offline::SortEvents(&events);
  for (const IssueEvent& event : events) {
    PrintJson(cloudevents::EncodeCloudEvent(event) + "\n");
  }
  for (const std::string& damage : range.damage)
    PrintError(TerminalLine(Cat("pitwall backtest: ", damage)) + "\n");
  return range.damage.empty() ? kFine : kCheckFailed;
}

// Returns "a", "a or b", or "a, b, or c".
std::string ListText(const std::vector<std::string>& parts, std::string_view last) {
  if (parts.size() < 2) return Join(parts, "");
  const std::vector<std::string> others(parts.begin(), parts.end() - 1);
  return Cat(Join(others, ", "), others.size() > 1 ? ", " : " ", last, " ", parts.back());
}

std::vector<std::string> FormatNames(bool remarks) {
  std::vector<std::string> names = {"log"};
  for (const imports::Format& format : imports::Formats()) {
    names.emplace_back(format.name);
    if (remarks && !format.remark.empty()) CatTo(names.back(), " (", format.remark, ")");
  }
  return names;
}

Status CheckFormat(const std::string& format) {
  if (format == "log" || imports::FindFormat(format) != nullptr) return OkStatus();
  return InvalidArgument(
      Cat("--format: must be ", ListText(FormatNames(false), "or"), " (got ", Quote(format), ")"));
}

// Rejects options of other formats.
Status CheckFormatOptions(const Flags& flags, const std::string& format) {
  for (const imports::Format& other : imports::Formats()) {
    if (other.name == format) continue;
    for (const imports::FormatOption& option : other.options) {
      if (flags.Has(option.name))
        return InvalidArgument(Cat("--", option.name, ": requires --format ", other.name, " (got ",
                                   Quote(format), ")"));
    }
  }
  return OkStatus();
}

// Rejects options that do not apply to the format and options that are mutually exclusive.
Status CheckOptions(const Flags& flags, const std::string& format) {
  if (!flags.positional().empty()) {
    return InvalidArgument(Cat("unexpected argument (", Quote(flags.positional()[0]),
                               "); specify files as --input FILE…"));
  }
  RETURN_IF_ERROR(CheckFormat(format));
  RETURN_IF_ERROR(CheckFormatOptions(flags, format));
  for (const char* const name : {"evaluation-interval", "baseline"}) {
    if (format == "log" && flags.Has(name) && !flags.Has("rules"))
      return InvalidArgument(Cat(
          "--", name, ": requires --rules; the rule sets in the log already include this setting"));
  }
  if (format != "log" && flags.Has("output"))
    return InvalidArgument("--output: requires --format log; files contain no log records to copy");
  if (flags.Has("output") && (flags.Has("job") || flags.Has("start") || flags.Has("end")))
    return InvalidArgument("--output: copies the whole log; remove --job, --start, and --end");
  if (format == "log" && flags.Has("duplicates"))
    return InvalidArgument("--duplicates: applies only to files; a log has no duplicates");
  return OkStatus();
}

std::vector<std::string> DirectoryFormats() {
  std::vector<std::string> names;
  for (const imports::Format& format : imports::Formats()) {
    if (format.wanted != nullptr) names.emplace_back(format.name);
  }
  return names;
}

// Returns the options that only one format has, with their help.
std::vector<std::pair<imports::FormatOption, std::string>> OwnOptions() {
  std::vector<std::pair<imports::FormatOption, std::string>> options;
  for (const imports::Format& format : imports::Formats()) {
    for (const imports::FormatOption& option : format.options)
      options.emplace_back(option, Cat(format.name, ": ", option.help));
  }
  return options;
}

// Returns one usage form per format of files, and one for all formats of directories.
std::vector<std::string> UsageOfFormats() {
  std::vector<std::string> usage;
  for (const imports::Format& format : imports::Formats()) {
    if (format.wanted != nullptr) continue;
    std::string& form = usage.emplace_back(Cat("--format ", format.name));
    for (const imports::FormatOption& option : format.options)
      CatTo(form, " --", option.name, " ", option.value);
    CatTo(form, " --rules FILE… --input FILE… [options]");
  }
  usage.push_back(
      Cat("--format ", Join(DirectoryFormats(), "|"), " --rules FILE… --input DIR… [options]"));
  return usage;
}

}  // namespace

std::vector<FlagSpec> ReplayInputOptions() {
  // The options refer to these texts.
  static const std::string formats = ListText(FormatNames(true), "or");
  static const std::string inputs =
      Cat("log: data directory of `pitwall standalone`; other formats: files, merged by time; ",
          ListText(DirectoryFormats(), "and"), ": also directories, one per job");
  static const std::vector<std::pair<imports::FormatOption, std::string>> own = OwnOptions();
  std::vector<FlagSpec> options = {
      {"format", Kind::kOne, "FORMAT", formats, "log"},
      {"input", Kind::kMany, "PATH", inputs},
      {"brokers", Kind::kOne, "HOSTS",
       "log: read the topics of this Kafka cluster (host:port,…) instead of a data directory"},
  };
  for (const auto& [option, help] : own)
    options.push_back({option.name, Kind::kOne, option.value, help});
  options.push_back(
      {"duplicates", Kind::kOne, "WHICH",
       "files: refuse two values of one series at the same time, or take the first or the last",
       "refuse"});
  return options;
}

std::vector<FlagSpec> ReplayRangeOptions() {
  return {
      {"overrides", Kind::kOne, "FILE", "with --rules: file with parameters of rules per job"},
      {"evaluation-interval", Kind::kOne, "DURATION",
       "with --rules: evaluation interval of groups that do not set one", "1m"},
      {"start", Kind::kOne, "TIME",
       "files: evaluate rules from TIME on, while older samples fill the windows; log: print "
       "events from TIME on; Unix seconds or RFC 3339"},
      {"end", Kind::kOne, "TIME", "files: ignore samples after TIME; log: print events up to TIME"},
      {"output", Kind::kOne, "DIR",
       "log: also write the log with these events into the new data directory DIR, which `pitwall "
       "insights --data-dir DIR` serves"},
  };
}

std::vector<FlagSpec> BacktestFlags() {
  return JoinOptions(
      {ReplayInputOptions(),
       {{"rules", Kind::kMany, "FILE",
         "rule files, or packs as pack:NAME; log: replace the rule sets that the log recorded"},
        {"baseline", Kind::kMany, "PATH",
         "with --rules: summaries of finished jobs (see `pitwall baseline`), or directories with "
         "summaries"},
        {"job", Kind::kOne, "ID",
         "log: print events of this job only; files: job of samples without the label pitwall_job "
         "(default: name of the file or directory)"}},
       ReplayRangeOptions(),
       {{"end-job", Kind::kSwitch, "", "end the jobs with the data; otherwise issues stay open"},
        {"verify", Kind::kSwitch, "",
         "log: only compare the result with the recorded pitwall.issues, bit by bit"},
        {"no-status", Kind::kSwitch, "",
         "print issues only, without status changes of rules; report rules in Error on stderr"}}});
}

StatusOr<std::vector<IssueEvent>> Replay(const Flags& flags, BacktestRange* range,
                                         engine::RecordingObserver* recordings) {
  const std::string format = flags.One("format").value_or("log");
  RETURN_IF_ERROR(CheckOptions(flags, format));
  ASSIGN_OR_RETURN(range->start, TimeFlag(flags, "start", range->start));
  ASSIGN_OR_RETURN(range->end, TimeFlag(flags, "end", range->end));
  if (range->start > range->end) return InvalidArgument("--start: must not be later than --end");
  if (format == "log") return BacktestLog(flags, range, recordings);
  return BacktestFiles(flags, *range, *imports::FindFormat(format), recordings);
}

StatusOr<int64_t> EvaluationInterval(const Flags& flags) {
  const auto text = flags.One("evaluation-interval");
  if (!text.has_value()) return plan::kDefaultInterval;
  const auto interval = ParseDuration(*text);
  RETURN_IF_ERROR(Annotate(interval.status(), "--evaluation-interval"));
  if (*interval <= 0)
    return InvalidArgument(
        Cat("--evaluation-interval: must be a duration above 0 (got ", Quote(*text), ")"));
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

Command BacktestCommand() {
  static const std::vector<std::string> formats = UsageOfFormats();  // `usage` refers to them
  std::vector<std::string_view> usage = {"--input DIR | --brokers HOSTS [options]"};
  usage.insert(usage.end(), formats.begin(), formats.end());
  return {
      .name = "backtest",
      .summary = "Run rules over recorded data and print the events as CloudEvents",
      .usage = usage,
      .max_arguments = kAnyNumber,  // CheckOptions rejects positional arguments with a hint
      .options = BacktestFlags(),
      .examples = {"pitwall backtest --input /var/lib/pitwall --verify",
                   "pitwall backtest --input /var/lib/pitwall --rules pack:training --no-status",
                   "pitwall backtest --format openmetrics --rules pack:gpu --input run-7.prom",
                   "pitwall backtest --format csv --mapping columns.yaml --rules pack:training "
                   "--input log.csv"},
      .run = [](const Flags& flags) {
        const StatusOr<int> code = Backtest(flags);
        return code.ok() ? *code : ExitCodeOf("backtest", code.status(), kUsage);
      }};
}

}  // namespace pitwall
