// `pitwall jobs list|show` and `pitwall rules status`: what the topic of issues tells of jobs.
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/strings.h"
#include "services/base/terminal.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/issue_reader.h"
#include "services/pitwall/job_book.h"
#include "services/pitwall/job_lines.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;

std::vector<FlagSpec> JobFlags(bool status) {
  std::vector<FlagSpec> specs = InputFlags();
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
  size_t count = 0;
  for (const auto& [name, status] : job->statuses) {
    if (!RuleMatches(rule, name)) continue;
    ++count;
    flags.Has("json") ? PrintJson(RuleStatusJson(*status, job->FoundBy(name)) + "\n")
                      : Print(TerminalLine(RuleStatusLine(*status, job->FoundBy(name))) + "\n");
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
  const auto flags = Flags::Parse(specs, arguments);
  if (!flags.ok()) return Finish(flags.status(), "jobs");
  const std::vector<std::string>& words = flags->positional();
  const bool list = words == std::vector<std::string>{"list"};
  const bool show = words.size() == 2 && words[0] == "show";
  if (flags->Has("help") || (!list && !show)) {
    const std::string text =
        Cat("pitwall jobs list [flags]\npitwall jobs show JOB [flags]\n", FlagHelp(specs));
    flags->Has("help") ? Print(text) : PrintError(text);
    return flags->Has("help") ? kFine : kUsage;
  }
  return Finish(list ? ListJobs(*flags) : ShowJob(words[1], *flags), "jobs");
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
