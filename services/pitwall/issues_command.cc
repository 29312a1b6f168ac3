// `pitwall issues list|show|watch`: issues of a running system, or out of its log.
#include <initializer_list>
#include <map>
#include <string>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/grpc/issue_client.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/told_event.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/issue_lines.h"
#include "services/pitwall/issue_page.h"
#include "services/pitwall/issue_reader.h"
#include "services/pitwall/topic_reading.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

std::vector<FlagSpec> MakeIssueFlags() {
  std::vector<FlagSpec> specs = InputFlags();
  for (const FlagSpec& spec : std::initializer_list<FlagSpec>{
           {"job", Kind::kOne, "ID", "only this job"},
           {"rule", Kind::kOne, "RULE", "only this rule (pack/group/alert, or its end: Alert)"},
           {"severity", Kind::kOne, "SEVERITY", "only this severity"},
           {"incident", Kind::kOne, "ID", "only this incident (or: those whose id begins so)"},
           {"status", Kind::kSwitch, "", "status changes of rules too"},
           {"no-job-changes", Kind::kSwitch, "",
            "watch: issues only; else jobs too: started, rank lost, attempt or job ended (not with "
            "--rule, --severity or --incident)"},
           {"all", Kind::kSwitch, "", "list: ended issues too"},
           {"from-start", Kind::kSwitch, "", "watch: first everything that the topic still holds"},
           {"resume", Kind::kOne, "TOKEN", "watch: continue right after this token"},
           {"count", Kind::kOne, "N", "watch: stop after so many events"},
           {"print-token", Kind::kSwitch, "",
            "watch: the resume token after each batch, on stderr"},
           {"json", Kind::kSwitch, "", "CloudEvents, one line each"},
           {"help", Kind::kSwitch, "", "this text"},
       }) {
    specs.push_back(spec);
  }
  return specs;
}

const std::vector<FlagSpec>& IssueFlags() {
  static const std::vector<FlagSpec> specs = MakeIssueFlags();
  return specs;
}

void PrintEvent(const std::string& json) {
  PrintJson(json + "\n");
  FlushOutput();
}

void PrintLine(const std::string& line) {
  Print(TerminalLine(line) + "\n");
  FlushOutput();
}

// Asks for the root cause of `event` where it has not been seen. `source`: a client or a reader.
template <typename Source>
void LearnCause(const IssueEvent& event, Source* client, IssueNames* names) {
  if (event.root_cause.empty() || names->Knows(event.root_cause)) return;
  const auto cause = client->Get(event.root_cause);
  if (cause.ok() && !cause->empty()) {
    names->Learn(*cause->back());
  } else {
    names->LearnUnknown(event.root_cause);
  }
}

Status List(const IssueFilter& filter, bool all, bool json, IssueReader* reader) {
  ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> issues, reader->List(filter, all));
  if (json) {
    for (const IssueEventPtr& event : issues) PrintEvent(cloudevents::EncodeCloudEvent(*event));
    return OkStatus();
  }
  IssueNames names(2 * issues.size() + 1);
  for (const IssueEventPtr& event : issues) names.Learn(*event);
  for (const IssueEventPtr& event : issues) LearnCause(*event, reader, &names);
  if (!filter.incident.empty()) PrintLine(IncidentLine(issues, names));
  std::map<std::string, std::string> marks;  // by issue
  for (const SilencedIssue& one : reader->silenced())
    marks[one.issue] =
        Cat("  [silenced by ", one.by, " until ", TimeText(one.until_ns), ": ", one.comment, "]");
  for (const IssueEventPtr& event : issues)
    PrintLine(Cat(IssueLine(*event, names), marks[IssueId(*event)]));
  return OkStatus();
}

Status Show(std::string_view id, bool json, IssueReader* reader) {
  IssueView view;
  ASSIGN_OR_RETURN(view.events, reader->Get(id));
  const IssueEvent& last = *view.events.back();
  StatusOr<std::vector<ActionEvent>> actions = reader->Actions(last);
  if (actions.ok()) {
    view.actions = *std::move(actions);
  } else if (!absl::IsUnimplemented(actions.status())) {
    return actions.status();
  }
  StatusOr<std::vector<ToldNotice>> told = reader->Told(IssueId(last));
  if (told.ok()) {
    view.told = *std::move(told);
  } else if (!absl::IsUnimplemented(told.status())) {
    return told.status();
  }
  StatusOr<std::vector<RankCapture>> captures = reader->Captures("", IssueId(last));
  if (captures.ok()) {
    view.captures = *std::move(captures);
  } else if (!absl::IsUnimplemented(captures.status())) {  // a server of an earlier version
    return captures.status();
  }
  if (json) {
    for (const IssueEventPtr& event : view.events)
      PrintEvent(cloudevents::EncodeCloudEvent(*event));
    for (const ActionEvent& action : view.actions.value_or(std::vector<ActionEvent>()))
      PrintEvent(cloudevents::EncodeCloudEvent(action));
    for (const ToldNotice& one : view.told.value_or(std::vector<ToldNotice>()))
      PrintEvent(cloudevents::EncodeToldNotice(one));
    for (const RankCapture& capture : view.captures)
      PrintEvent(cloudevents::EncodeRankCapture(capture));
    return OkStatus();
  }
  if (!last.incident.empty()) {
    ASSIGN_OR_RETURN(view.incident, reader->List({.incident = last.incident}, true));
  }
  IssueNames names;
  for (const IssueEventPtr& event : view.incident) names.Learn(*event);
  for (const IssueEventPtr& event : view.events) names.Learn(*event);
  LearnCause(last, reader, &names);
  Print(IssuePageText(view, names));
  return OkStatus();
}

// --count; nothing: without end. InvalidArgument.
StatusOr<int64_t> Limit(const Flags& flags) {
  const auto count = flags.One("count");
  if (!count.has_value()) return INT64_MAX;
  const auto parsed = ParseInt(*count);
  if (!parsed.has_value() || *parsed <= 0)
    return InvalidArgument(Cat("--count ", *count, ": not a positive number"));
  return *parsed;
}

// `left`: events until a watch ends.
Status Run(const std::string& verb, const Flags& flags, int64_t left) {
  const IssueFilter filter{.job = flags.One("job").value_or(""),
                           .rule = flags.One("rule").value_or(""),
                           .severity = flags.One("severity").value_or(""),
                           .include_status = flags.Has("status"),
                           .incident = flags.One("incident").value_or(""),
                           .include_job_changes = verb == "watch" && !flags.Has("no-job-changes") &&
                                                  !flags.Has("incident") && !flags.Has("rule") &&
                                                  !flags.Has("severity")};
  const bool json = flags.Has("json");
  if (verb != "watch") {
    clock::SystemClock clock;
    ASSIGN_OR_RETURN(const std::unique_ptr<IssueReader> reader, IssueReader::Open(flags, &clock));
    return verb == "list" ? List(filter, flags.Has("all"), json, reader.get())
                          : Show(flags.positional()[1], json, reader.get());
  }
  if (HasLogInput(flags))
    return InvalidArgument("watch follows a running system: --target, not --data-dir or --brokers");
  ASSIGN_OR_RETURN(const std::unique_ptr<grpc_adapter::IssueClient> client, OpenIssueClient(flags));
  IssueNames names;
  const WatchQuery query{.filter = filter,
                         .resume_token = flags.One("resume").value_or(""),
                         .from_start = flags.Has("from-start")};
  return client->Watch(query, [&](const WatchBatch& batch) {
    for (const IssueEventPtr& event : batch.events) {
      names.Learn(*event);
      if (!json) LearnCause(*event, client.get(), &names);
      json ? PrintEvent(cloudevents::EncodeCloudEvent(*event))
           : PrintLine(IssueLine(*event, names));
      // Cut in the middle of a batch there is no token for what was printed: only whole batches
      // have one.
      if (--left == 0) return false;
    }
    if (flags.Has("print-token")) PrintError(Cat("token ", batch.resume_token, "\n"));
    return true;
  });
}

}  // namespace

int RunIssues(const std::vector<std::string>& arguments) {
  auto flags = Flags::Parse(IssueFlags(), arguments);
  const bool help = flags.ok() && flags->Has("help");
  const size_t words = flags.ok() ? flags->positional().size() : 0;
  const std::string verb = words > 0 ? flags->positional()[0] : "";
  const bool known =
      ((verb == "list" || verb == "watch") && words == 1) || (verb == "show" && words == 2);
  if (help || (flags.ok() && !known)) {
    const std::string text =
        Cat("pitwall issues list|watch [flags]\npitwall issues show ID [flags]\n",
            FlagHelp(IssueFlags()));
    help ? Print(text) : PrintError(text);
    return help ? kFine : kUsage;
  }
  const StatusOr<int64_t> limit = flags.ok() ? Limit(*flags) : StatusOr<int64_t>(flags.status());
  const Status status = limit.ok() ? Run(verb, *flags, *limit) : limit.status();
  if (status.ok()) return kFine;
  PrintError(Cat("pitwall issues: ", ToStd(status.message()), "\n"));
  return limit.ok() ? kCheckFailed : kUsage;
}

}  // namespace pitwall
