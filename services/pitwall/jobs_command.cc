// `pitwall jobs list|show|report|archive|delete` and `pitwall rules status`. With --target,
// --data-dir or
// --brokers they read what the topic of issues tells of jobs, else jobs are asked of the history.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/history_access.h"
#include "services/pitwall/issue_reader.h"
#include "services/pitwall/job_book.h"
#include "services/pitwall/job_lines.h"
#include "services/pitwall/topic_reading.h"
#include "services/processor/job_parameter_table.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;

constexpr char kJobsUsage[] =
    R"(pitwall jobs list [--name TEXT --owner TEXT --state STATE --limit N] [flags]
pitwall jobs show JOB [flags]
pitwall jobs report JOB [-o FILE] [--json] [flags]
pitwall jobs parameters JOB [--rule RULE] [--json] [flags]
pitwall jobs parameter JOB RULE NAME VALUE --reason TEXT [--json] [flags]
pitwall jobs archive JOB [--name FOLDER] [flags]
pitwall jobs delete JOB [flags]

One rule says where jobs are read: with --target, --data-dir or --brokers out of the issues of a running system or of the
log; else from the history at --url, which also knows samples and bytes. archive and delete are of the history, for jobs
that have ended, and need the role act; delete takes a whole id. report writes one HTML file that needs nothing else, of a
job that runs or has ended; with --json the same for programs. JOB else is an id, a name, or a beginning of the id.

parameter asks for another value of a rule's parameter, for one running job, and waits until the processor answers; VALUE is
a number, or null for that of the rule files. It needs the role act and takes whole names: the job's id and pack/group/alert.
parameters lists the values that the job has, and where they come from: the rule, the overrides file, or set by a person.

)";

std::vector<FlagSpec> JobFlags(bool status) {
  std::vector<FlagSpec> specs = InputFlags();
  if (!status) {
    for (const FlagSpec& spec : HistoryUrlFlags()) specs.push_back(spec);
    specs.push_back(
        {"name", Kind::kOne, "TEXT", "list: part of name or id; archive: of its folder"});
    specs.push_back({"owner", Kind::kOne, "TEXT", "list, history: only of this owner"});
    specs.push_back({"state", Kind::kOne, "STATE", "list, history: running, ended or all (all)"});
    specs.push_back({"sort", Kind::kOne, "FIELD",
                     "list, history: last, started, name, issues, samples or bytes (last)"});
    specs.push_back({"order", Kind::kOne, "ORDER", "list, history: desc or asc (desc)"});
    specs.push_back({"rule", Kind::kOne, "RULE", "parameters: of this rule (or its end: Alert)"});
    specs.push_back({"reason", Kind::kOne, "TEXT", "parameter: why, in words; needed"});
    specs.push_back({"output", Kind::kOne, "FILE",
                     "report (also -o): file to write (report-JOB.html; with --json stdout)"});
    specs.push_back({"limit", Kind::kOne, "N", "list, history: at most so many (100)"});
  }
  if (status) {
    specs.push_back({"job", Kind::kOne, "JOB", "id, name, or a beginning of the id; needed"});
    specs.push_back(
        {"rule", Kind::kOne, "RULE", "only this rule (pack/group/alert, or its end: Alert)"});
  }
  specs.push_back({"json", Kind::kSwitch, "", "one JSON object in a line each"});
  specs.push_back({"help", Kind::kSwitch, "", "this text"});
  return specs;
}

Status ReadBook(const Flags& flags, JobBook* book) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<IssueReader> reader, IssueReader::Open(flags, &clock));
  return reader->ForEach({.include_status = true, .include_job_changes = true},
                         [book](const IssueEventPtr& event) { book->Apply(event); });
}

// What people set of the job, where the flags name a log. The gRPC server does not tell it.
Status ReadSetParameters(const Flags& flags, const std::string& job,
                         std::vector<codec::SetParameter>* set) {
  if (!HasLogInput(flags)) return OkStatus();
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLogInput(flags, &clock));
  processor::JobParameterTable book(log.get());
  const Status read = book.Read();
  if (absl::IsNotFound(read)) return OkStatus();  // a log of telemetry alone
  RETURN_IF_ERROR(read);
  if (const codec::JobParameters* known = book.Find(job)) *set = known->parameters;
  return OkStatus();
}

Status ListJobs(const Flags& flags) {
  JobBook book;
  RETURN_IF_ERROR(ReadBook(flags, &book));
  const std::vector<const JobRecord*> jobs = book.Jobs();
  for (const JobRecord* job : jobs)
    flags.Has("json") ? PrintJson(JobJson(*job) + "\n") : Print(TerminalLine(JobLine(*job)) + "\n");
  if (jobs.empty()) PrintError("no jobs: the topic of issues tells of none\n");
  return OkStatus();
}

Status ShowJob(std::string_view wanted, const Flags& flags) {
  JobBook book;
  RETURN_IF_ERROR(ReadBook(flags, &book));
  ASSIGN_OR_RETURN(const JobRecord* const job, book.Find(wanted));
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
  JobBook book;
  RETURN_IF_ERROR(ReadBook(flags, &book));
  ASSIGN_OR_RETURN(const JobRecord* const job, book.Find(flags.One("job").value_or("")));
  const std::string rule = flags.One("rule").value_or("");
  std::vector<codec::SetParameter> set;
  RETURN_IF_ERROR(ReadSetParameters(flags, job->id, &set));
  size_t count = 0;
  for (const auto& [name, told] : job->statuses) {
    if (!RuleMatches(rule, name)) continue;
    ++count;
    flags.Has("json") ? PrintJson(RuleStatusJson(*job, name, set) + "\n")
                      : Print(TerminalLine(RuleStatusLine(*job, name)) + "\n");
    if (!flags.Has("json")) Print(SetParametersText(name, set));
  }
  if (count == 0)
    return NotFound(Cat(rule.empty() ? "no rule" : Cat("rule ", Quote(rule), ": none of its name"),
                        " has said anything of job ", job->id, " yet"));
  return OkStatus();
}

int Finish(const Status& status, std::string_view command) {
  if (status.ok()) return kFine;
  PrintError(Cat("pitwall ", command, ": ", ToStd(status.message()), "\n"));
  return absl::IsInvalidArgument(status) ? kUsage : kCheckFailed;
}

}  // namespace

int RunJobs(const std::vector<std::string>& arguments) {
  const std::vector<FlagSpec> specs = JobFlags(false);
  std::vector<std::string> words_given = arguments;
  std::replace(words_given.begin(), words_given.end(), std::string("-o"), std::string("--output"));
  const auto flags = Flags::Parse(specs, words_given);
  if (!flags.ok()) return Finish(flags.status(), "jobs");
  const std::vector<std::string>& words = flags->positional();
  const bool list = words == std::vector<std::string>{"list"};
  const bool show = words.size() == 2 && words[0] == "show";
  const bool report = words.size() == 2 && words[0] == "report";
  const bool archive = words.size() == 2 && words[0] == "archive";
  const bool remove = words.size() == 2 && words[0] == "delete";
  const bool parameters = words.size() == 2 && words[0] == "parameters";
  const bool parameter = words.size() == 5 && words[0] == "parameter";
  if (flags->Has("help") ||
      (!list && !show && !report && !archive && !remove && !parameters && !parameter)) {
    const std::string text = Cat(kJobsUsage, FlagHelp(specs));
    flags->Has("help") ? Print(text) : PrintError(text);
    return flags->Has("help") ? kFine : kUsage;
  }
  const bool events = flags->Has("target") || HasLogInput(*flags);
  if (events && flags->Has("url"))
    return Finish(InvalidArgument("--url beside --target, --data-dir or --brokers: one is enough"),
                  "jobs");
  if (events && !list && !show)
    return Finish(InvalidArgument(Cat("jobs ", words[0],
                                      " is of the history: give --url, not --target, --data-dir "
                                      "or --brokers")),
                  "jobs");
  if (parameters) return Finish(ListHistoryParameters(words[1], *flags), "jobs parameters");
  if (parameter) return Finish(SetHistoryParameter(words, *flags), "jobs parameter");
  if (report) return Finish(ReportHistoryJob(words[1], *flags), "jobs report");
  if (archive) return Finish(ArchiveHistoryJob(words[1], *flags), "jobs archive");
  if (remove) return Finish(DeleteHistoryJob(words[1], *flags), "jobs delete");
  if (events) return Finish(list ? ListJobs(*flags) : ShowJob(words[1], *flags), "jobs");
  return Finish(list ? ListHistoryJobs(*flags) : ShowHistoryJob(words[1], *flags), "jobs");
}

int RunRuleStatus(const std::vector<std::string>& arguments) {
  const std::vector<FlagSpec> specs = JobFlags(true);
  const auto flags = Flags::Parse(specs, arguments);
  if (!flags.ok()) return Finish(flags.status(), "rules status");
  if (flags->Has("help") || !flags->positional().empty() || !flags->Has("job")) {
    const std::string text = Cat("pitwall rules status --job JOB [flags]\n", FlagHelp(specs));
    flags->Has("help") ? Print(text) : PrintError(text);
    return flags->Has("help") ? kFine : kUsage;
  }
  return Finish(ShowStatuses(*flags), "rules status");
}

}  // namespace pitwall
