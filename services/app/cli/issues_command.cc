// Commands `pitwall issues list|show|watch`: print issues from a running system or a log.
#include <map>
#include <string>
#include <utility>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/grpc/issue_client.h"
#include "services/app/cli/commands.h"
#include "services/app/cli/issue_reader.h"
#include "services/app/cli/topic_reading.h"
#include "services/app/command/flags.h"
#include "services/app/text/issue_details_text.h"
#include "services/app/text/issue_text.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

// Options shared by list and watch.
std::vector<FlagSpec> FilterOptions() {
  return {
      {"job", Kind::kOne, "ID", "only issues of this job"},
      {"rule", Kind::kOne, "RULE",
       "only issues of this rule (pack/group/alert, or its end: Alert)"},
      {"severity", Kind::kOne, "SEVERITY", "only issues of this severity"},
      {"incident", Kind::kOne, "ID", "only issues of incidents whose ID starts with ID"},
      {"status", Kind::kSwitch, "", "include status changes of rules"},
  };
}

constexpr FlagSpec kJson = {"json", Kind::kSwitch, "", "print one CloudEvent per line"};

void PrintEvent(const std::string& json) {
  PrintJson(json + "\n");
  FlushOutput();
}

void PrintLine(const std::string& line) {
  Print(TerminalLine(line) + "\n");
  FlushOutput();
}

// Fetches the root cause of `event` unless `names` already contains it. `Source` is a client or a
// reader.
template <typename Source>
void LearnCause(const IssueEvent& event, Source* source, IssueNames* names) {
  if (event.root_cause.empty() || names->Knows(event.root_cause)) return;
  const auto cause = source->Get(event.root_cause);
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
  std::map<std::string, std::string> marks;  // by issue ID
  for (const SilencedIssue& one : reader->silenced())
    marks[one.issue] =
        Cat("  [silenced by ", one.by, " until ", TimeText(one.until.ns()), ": ", one.comment, "]");
  for (const IssueEventPtr& event : issues)
    PrintLine(Cat(IssueLine(*event, names), marks[IssueId(*event)]));
  return OkStatus();
}

// Stores a query result in `value`. Ignores Unimplemented errors, which are returned by older
// servers and by sources without this query.
template <typename T, typename Value>
Status TakeIfImplemented(StatusOr<T> result, Value* value) {
  if (absl::IsUnimplemented(result.status())) return OkStatus();
  RETURN_IF_ERROR(result.status());
  *value = *std::move(result);
  return OkStatus();
}

StatusOr<IssueView> ReadView(std::string_view id, IssueReader* reader) {
  IssueView view;
  ASSIGN_OR_RETURN(view.events, reader->Get(id));
  const IssueEvent& last = *view.events.back();
  RETURN_IF_ERROR(TakeIfImplemented(reader->Actions(last), &view.actions));
  RETURN_IF_ERROR(TakeIfImplemented(reader->Notifications(IssueId(last)), &view.notifications));
  RETURN_IF_ERROR(TakeIfImplemented(reader->Captures("", IssueId(last)), &view.captures));
  return view;
}

void PrintView(const IssueView& view) {
  for (const IssueEventPtr& event : view.events) PrintEvent(cloudevents::EncodeCloudEvent(*event));
  for (const ActionEvent& action : view.actions.value_or(std::vector<ActionEvent>()))
    PrintEvent(cloudevents::EncodeCloudEvent(action));
  for (const NotificationRecord& one :
       view.notifications.value_or(std::vector<NotificationRecord>()))
    PrintEvent(cloudevents::EncodeNotification(one));
  for (const RankCapture& capture : view.captures)
    PrintEvent(cloudevents::EncodeRankCapture(capture));
}

Status Show(std::string_view id, bool json, IssueReader* reader) {
  ASSIGN_OR_RETURN(IssueView view, ReadView(id, reader));
  if (json) {
    PrintView(view);
    return OkStatus();
  }
  const IssueEvent& last = *view.events.back();
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

// Returns the value of --count, or INT64_MAX if the option is not set.
StatusOr<int64_t> Limit(const Flags& flags) {
  const auto count = flags.One("count");
  if (!count.has_value()) return INT64_MAX;
  const auto parsed = ParseInt(*count);
  if (!parsed.has_value() || *parsed <= 0)
    return InvalidArgument(Cat("--count: must be an integer above 0 (got ", Quote(*count), ")"));
  return *parsed;
}

IssueFilter FilterOf(const Flags& flags) {
  return {.job = flags.One("job").value_or(""),
          .rule = flags.One("rule").value_or(""),
          .severity = flags.One("severity").value_or(""),
          .include_status = flags.Has("status"),
          .incident = flags.One("incident").value_or("")};
}

// Prints events as they arrive, until `left` have been printed.
Status Watch(const Flags& flags, int64_t left) {
  IssueFilter filter = FilterOf(flags);
  filter.include_job_changes = !flags.Has("no-job-changes") && !flags.Has("incident") &&
                               !flags.Has("rule") && !flags.Has("severity");
  const bool json = flags.Has("json");
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
      // A resume token covers a complete batch, so no token is printed for a batch cut short by
      // --count.
      if (--left == 0) return false;
    }
    if (flags.Has("print-token")) PrintError(Cat("token ", batch.resume_token, "\n"));
    return true;
  });
}

// Opens a reader and calls `read` with it. Returns the exit code.
template <typename Read>
int WithReader(std::string_view command, const Flags& flags, const Read& read) {
  clock::SystemClock clock;
  const auto reader = IssueReader::Open(flags, &clock);
  const Status status = reader.ok() ? read(reader->get()) : reader.status();
  if (status.ok()) return kFine;
  PrintFailure(command, status);
  return kCheckFailed;
}

int RunWatch(const Flags& flags) {
  const StatusOr<int64_t> limit = Limit(flags);
  const Status status = limit.ok() ? Watch(flags, *limit) : limit.status();
  if (status.ok()) return kFine;
  PrintFailure("issues watch", status);
  return limit.ok() ? kCheckFailed : kUsage;
}

Command ListCommand() {
  return {.name = "issues list",
          .summary = "List open issues, each symptom with its root cause",
          .usage = {"[options]"},
          .options = JoinOptions({FilterOptions(),
                                  {{"all", Kind::kSwitch, "", "include ended issues"}, kJson},
                                  InputFlags()}),
          .examples = {"pitwall issues list --all",
                       "pitwall issues list --rule StepOutlier --target 127.0.0.1:9871",
                       "pitwall issues list --data-dir /var/lib/pitwall --json"},
          .run = [](const Flags& flags) {
            return WithReader("issues list", flags, [&](IssueReader* reader) {
              return List(FilterOf(flags), flags.Has("all"), flags.Has("json"), reader);
            });
          }};
}

Command ShowCommand() {
  return {.name = "issues show",
          .summary = "Show an issue with its evidence, causes, actions, and notifications",
          .usage = {"ID [options]"},
          .details = "ID is the ID of an issue or the start of an ID.\n",
          .min_arguments = 1,
          .max_arguments = 1,
          .options = JoinOptions({{kJson}, InputFlags()}),
          .examples = {"pitwall issues show 34e7b5",
                       "pitwall issues show 34e7b5 --data-dir /var/lib/pitwall --json"},
          .run = [](const Flags& flags) {
            return WithReader("issues show", flags, [&](IssueReader* reader) {
              return Show(flags.positional()[0], flags.Has("json"), reader);
            });
          }};
}

Command WatchCommand() {
  return {
      .name = "issues watch",
      .summary = "Print events of a running system as they happen",
      .usage = {"[options]"},
      .options = JoinOptions(
          {FilterOptions(),
           {{"no-job-changes", Kind::kSwitch, "",
             "omit changes of jobs: job started, rank lost, attempt ended, job ended; --rule, "
             "--severity, and --incident imply it"},
            {"from-start", Kind::kSwitch, "", "print all events that the topic still holds first"},
            {"resume", Kind::kOne, "TOKEN", "continue after this token"},
            {"count", Kind::kOne, "N", "exit after N events"},
            {"print-token", Kind::kSwitch, "", "print the resume token after each batch on stderr"},
            kJson},
           TargetFlags()}),
      .examples = {"pitwall issues watch --from-start",
                   "pitwall issues watch --severity critical --json"},
      .run = RunWatch};
}

}  // namespace

std::vector<Command> IssuesCommands() { return {ListCommand(), ShowCommand(), WatchCommand()}; }

}  // namespace pitwall
