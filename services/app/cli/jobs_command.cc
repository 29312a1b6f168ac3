// Commands `pitwall jobs …` and `pitwall rules status`. With --target, --data-dir, or --brokers,
// they read jobs from the issues topic. Otherwise, they read jobs from the history.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/app/cli/commands.h"
#include "services/app/cli/history_access.h"
#include "services/app/cli/issue_reader.h"
#include "services/app/cli/topic_reading.h"
#include "services/app/command/flags.h"
#include "services/app/text/job_text.h"
#include "services/app/text/jobs_from_topic.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/processor/job_parameter_table.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;

constexpr std::string_view kJobHelp = "JOB is an ID, a name, or the start of an ID.\n";
constexpr std::string_view kSourceHelp =
    "With --target, --data-dir, or --brokers, jobs are read from the issues of a running system or "
    "of a\n"
    "log. Otherwise they are read from the history at --url, which also has samples and sizes.\n";
constexpr FlagSpec kJsonOption = {"json", Kind::kSwitch, "", "print one JSON object per line"};
constexpr FlagSpec kRuleOption = {"rule", Kind::kOne, "RULE",
                                  "only this rule (pack/group/alert, or its end: Alert)"};

Status ReadJobs(const Flags& flags, JobsFromTopic* known_jobs) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<IssueReader> reader, IssueReader::Open(flags, &clock));
  return reader->ForEach({.include_status = true, .include_job_changes = true},
                         [known_jobs](const IssueEventPtr& event) { known_jobs->Apply(event); });
}

// Reads the user-set parameters of the job if the options specify a log. The gRPC server does not
// serve these parameters.
Status ReadSetParameters(const Flags& flags, const std::string& job,
                         std::vector<codec::SetParameter>* set) {
  if (!HasLogInput(flags)) return OkStatus();
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLogInput(flags, &clock));
  processor::JobParameterTable table(&clock, log.get());
  const Status read = table.Read();
  if (absl::IsNotFound(read)) return OkStatus();  // the log contains only telemetry
  RETURN_IF_ERROR(read);
  if (const codec::JobParameters* known = table.Find(job)) *set = known->parameters;
  return OkStatus();
}

Status ListJobs(const Flags& flags) {
  JobsFromTopic known_jobs;
  RETURN_IF_ERROR(ReadJobs(flags, &known_jobs));
  const std::vector<const JobRecord*> jobs = known_jobs.Jobs();
  for (const JobRecord* job : jobs)
    flags.Has("json") ? PrintJson(JobJson(*job) + "\n") : Print(TerminalLine(JobLine(*job)) + "\n");
  if (jobs.empty()) PrintError("no jobs: the issues topic has no job events\n");
  return OkStatus();
}

Status ShowJob(std::string_view wanted, const Flags& flags) {
  JobsFromTopic known_jobs;
  RETURN_IF_ERROR(ReadJobs(flags, &known_jobs));
  ASSIGN_OR_RETURN(const JobRecord* const job, known_jobs.Find(wanted));
  if (flags.Has("json")) {
    PrintJson(JobJson(*job) + "\n");
    return OkStatus();
  }
  IssueNames names;
  for (const auto* issues : {&job->open_issues, &job->ended_issues}) {
    for (const auto& [id, event] : *issues) names.Learn(*event);
  }
  Print(JobPageText(*job, names));
  return OkStatus();
}

Status ShowStatuses(const Flags& flags) {
  JobsFromTopic known_jobs;
  RETURN_IF_ERROR(ReadJobs(flags, &known_jobs));
  ASSIGN_OR_RETURN(const JobRecord* const job, known_jobs.Find(flags.One("job").value_or("")));
  const std::string rule = flags.One("rule").value_or("");
  std::vector<codec::SetParameter> set;
  RETURN_IF_ERROR(ReadSetParameters(flags, job->id, &set));
  size_t count = 0;
  for (const auto& [name, status] : job->statuses) {
    if (!RuleMatches(rule, name)) continue;
    ++count;
    flags.Has("json") ? PrintJson(RuleStatusJson(*job, name, set) + "\n")
                      : Print(TerminalLine(RuleStatusLine(*job, name)) + "\n");
    if (!flags.Has("json")) Print(SetParametersText(name, set));
  }
  if (count == 0)
    return NotFound(Cat("job ", Quote(job->id), ": no status yet from ",
                        rule.empty() ? "any rule" : Cat("a rule named ", Quote(rule))));
  return OkStatus();
}

// Runs `events` if the options specify a gRPC server or a log, and otherwise `history`.
template <typename Events, typename History>
int FromEither(std::string_view command, const Flags& flags, const Events& events,
               const History& history) {
  const bool from_events = flags.Has("target") || HasLogInput(flags);
  if (from_events && flags.Has("url"))
    return ExitCodeOf(command,
                      InvalidArgument("--url: cannot be combined with --target, "
                                      "--data-dir, or --brokers; specify only one of them"));
  return ExitCodeOf(command, from_events ? events() : history());
}

Command ListCommand() {
  return {.name = "jobs list",
          .summary = "List jobs with their attempts, ends, and issue counts",
          .usage = {"[options]"},
          .details = kSourceHelp,
          .options = JoinOptions(
              {{{"name", Kind::kOne, "TEXT", "history: only jobs with TEXT in the name or ID"},
                {"owner", Kind::kOne, "TEXT", "history: only jobs of this owner"},
                {"state", Kind::kOne, "STATE", "history: running, ended, or all", "all"},
                {"sort", Kind::kOne, "FIELD",
                 "history: last, started, name, issues, samples, or bytes", "last"},
                {"order", Kind::kOne, "ORDER", "history: desc or asc", "desc"},
                {"limit", Kind::kOne, "N", "history: list at most N jobs", "100"},
                kJsonOption},
               HistoryUrlFlags(),
               InputFlags()}),
          .examples = {"pitwall jobs list --state running",
                       "pitwall jobs list --data-dir /var/lib/pitwall --json"},
          .run = [](const Flags& flags) {
            return FromEither(
                "jobs list", flags, [&] { return ListJobs(flags); },
                [&] { return ListHistoryJobs(flags); });
          }};
}

Command ShowCommand() {
  static const std::string details = Cat(kJobHelp, kSourceHelp);
  return {.name = "jobs show",
          .summary = "Show a job with its attempts, the verdicts of its rules, and its issues",
          .usage = {"JOB [options]"},
          .details = details,
          .min_arguments = 1,
          .max_arguments = 1,
          .options = JoinOptions({{kJsonOption}, HistoryUrlFlags(), InputFlags()}),
          .examples = {"pitwall jobs show bert-1",
                       "pitwall jobs show bert-1 --data-dir /var/lib/pitwall"},
          .run = [](const Flags& flags) {
            const std::string& job = flags.positional()[0];
            return FromEither(
                "jobs show", flags, [&] { return ShowJob(job, flags); },
                [&] { return ShowHistoryJob(job, flags); });
          }};
}

Command ReportCommand() {
  return {.name = "jobs report",
          .summary = "Write a report of a job as one self-contained HTML file or as JSON",
          .usage = {"JOB [-o FILE] [options]"},
          .details = kJobHelp,
          .min_arguments = 1,
          .max_arguments = 1,
          .options = JoinOptions(
              {{{"output", Kind::kOne, "FILE",
                 "file to write (default: report-JOB.html; with --json, stdout)", "", "o"},
                {"json", Kind::kSwitch, "", "write JSON instead of HTML"}},
               HistoryFlags()}),
          .examples = {"pitwall jobs report bert-1 -o report.html",
                       "pitwall jobs report bert-1 --json"},
          .run = [](const Flags& flags) {
            return ExitCodeOf("jobs report", ReportHistoryJob(flags.positional()[0], flags));
          }};
}

Command ParametersCommand() {
  return {.name = "jobs parameters",
          .summary = "List the parameters of a job's rules and the sources of their values",
          .usage = {"JOB [options]"},
          .details = kJobHelp,
          .min_arguments = 1,
          .max_arguments = 1,
          .options = JoinOptions({{kRuleOption, kJsonOption}, HistoryFlags()}),
          .examples = {"pitwall jobs parameters bert-1 --rule GradNormHigh"},
          .run = [](const Flags& flags) {
            return ExitCodeOf("jobs parameters",
                              ListHistoryParameters(flags.positional()[0], flags));
          }};
}

Command ParameterCommand() {
  return {
      .name = "jobs parameter",
      .summary = "Set a parameter of a rule for one running job and wait for the processor's reply",
      .usage = {"JOB RULE NAME VALUE --reason TEXT [options]"},
      .details =
          "JOB is a complete ID and RULE a complete name (pack/group/alert). VALUE is a number, "
          "or null to\nreset the parameter. Requires a token with the role act.\n",
      .min_arguments = 4,
      .max_arguments = 4,
      .options = JoinOptions(
          {{{"reason", Kind::kOne, "TEXT", "reason for the change (required)"}, kJsonOption},
           HistoryFlags()}),
      .examples =
          {"pitwall jobs parameter slurm-91734 grad/gradients/GradNormHigh factor 5 --reason "
           "\"new schedule\" --token-file act"},
      .run = [](const Flags& flags) {
        return ExitCodeOf("jobs parameter", SetHistoryParameter(flags.positional(), flags));
      }};
}

Command ArchiveCommand() {
  return {.name = "jobs archive",
          .summary = "Copy the history of an ended job to an archive directory of the server",
          .usage = {"JOB [options]"},
          .details =
              "JOB is an ID, a name, or the start of an ID. Requires a token with the role act.\n",
          .min_arguments = 1,
          .max_arguments = 1,
          .options = JoinOptions(
              {{{"name", Kind::kOne, "NAME", "name of the directory (default: the job ID)"},
                kJsonOption},
               HistoryFlags()}),
          .examples = {"pitwall jobs archive bert-1 --name bert-baseline --token-file act"},
          .run = [](const Flags& flags) {
            return ExitCodeOf("jobs archive", ArchiveHistoryJob(flags.positional()[0], flags));
          }};
}

Command DeleteCommand() {
  return {.name = "jobs delete",
          .summary = "Delete an ended job from the history",
          .usage = {"ID [options]"},
          .details =
              "ID is a complete job ID. The log keeps the records of the job until their "
              "retention ends.\nRequires a token with the role act.\n",
          .min_arguments = 1,
          .max_arguments = 1,
          .options = JoinOptions({{kJsonOption}, HistoryFlags()}),
          .examples = {"pitwall jobs delete slurm-91734 --token-file act"},
          .run = [](const Flags& flags) {
            return ExitCodeOf("jobs delete", DeleteHistoryJob(flags.positional()[0], flags));
          }};
}

int RunRuleStatus(const Flags& flags) {
  if (!flags.Has("job"))
    return ExitCodeOf("rules status",
                      InvalidArgument("--job: value is missing; specify --job JOB"));
  return ExitCodeOf("rules status", ShowStatuses(flags));
}

}  // namespace

std::vector<Command> JobsCommands() {
  return {ListCommand(),      ShowCommand(),    ReportCommand(), ParametersCommand(),
          ParameterCommand(), ArchiveCommand(), DeleteCommand()};
}

Command RuleStatusCommand() {
  return {.name = "rules status",
          .summary = "Show the status of each rule for a job, and the data it waits for",
          .usage = {"--job JOB [options]"},
          .options = JoinOptions(
              {{{"job", Kind::kOne, "JOB", "ID, name, or start of the ID of a job (required)"},
                kRuleOption,
                kJsonOption},
               InputFlags()}),
          .examples = {"pitwall rules status --job bert-1",
                       "pitwall rules status --job bert-1 --data-dir /var/lib/pitwall --json"},
          .run = RunRuleStatus};
}

}  // namespace pitwall
