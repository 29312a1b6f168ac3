// `pitwall issues list|watch`: a client of a running system.
#include <cstdio>

#include "services/adapters/grpc/issue_client.h"
#include "services/base/files.h"
#include "services/base/strings.h"
#include "services/base/terminal.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/issue_lines.h"

namespace pitwall {

namespace {

using Kind = FlagSpec::Kind;

const std::vector<FlagSpec>& IssueFlags() {
  static const std::vector<FlagSpec> specs = {
      {"target", Kind::kOne, "ADDR", "gRPC address (127.0.0.1:9871)"},
      {"token-file", Kind::kOne, "FILE", "token, beyond loopback"},
      {"tls", Kind::kSwitch, "", "the server speaks TLS; --ca-file and --cert-file imply it"},
      {"ca-file", Kind::kOne, "FILE", "certificates to trust (default: the system's)"},
      {"cert-file", Kind::kOne, "FILE", "our certificate, where the server wants one"},
      {"key-file", Kind::kOne, "FILE", "its key"},
      {"job", Kind::kOne, "ID", "only this job"},
      {"rule", Kind::kOne, "RULE", "only this rule (pack/group/alert)"},
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
      {"print-token", Kind::kSwitch, "", "watch: the resume token after each batch, on stderr"},
      {"json", Kind::kSwitch, "", "CloudEvents, one line each"},
      {"help", Kind::kSwitch, "", "this text"},
  };
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

// Asks for the root cause of `event` where it has not been seen.
void LearnCause(const IssueEvent& event, grpc_adapter::IssueClient* client, IssueNames* names) {
  if (event.root_cause.empty() || names->Knows(event.root_cause)) return;
  const auto cause = client->Get(event.root_cause);
  if (cause.ok() && !cause->empty()) {
    names->Learn(*cause->back());
  } else {
    names->LearnUnknown(event.root_cause);
  }
}

Status List(const IssueFilter& filter, bool all, bool json, grpc_adapter::IssueClient* client) {
  IssueQuery query{.filter = filter, .include_ended = all, .page_size = 1000};
  std::vector<IssueEventPtr> issues;
  do {
    ASSIGN_OR_RETURN(const IssuePage page, client->List(query));
    issues.insert(issues.end(), page.issues.begin(), page.issues.end());
    query.page_token = page.next_page_token;
  } while (!query.page_token.empty());
  if (json) {
    for (const IssueEventPtr& event : issues) PrintEvent(cloudevents::EncodeCloudEvent(*event));
    return OkStatus();
  }
  IssueNames names(2 * issues.size() + 1);
  for (const IssueEventPtr& event : issues) names.Learn(*event);
  for (const IssueEventPtr& event : issues) LearnCause(*event, client, &names);
  if (!filter.incident.empty()) PrintLine(IncidentLine(issues, names));
  for (const IssueEventPtr& event : issues) PrintLine(IssueLine(*event, names));
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
  grpc_adapter::IssueClientOptions options;
  options.target = flags.One("target").value_or(options.target);
  if (const auto path = flags.One("token-file")) {
    ASSIGN_OR_RETURN(const std::string token, ReadFile(*path, 4096));
    options.token = std::string(Trim(token));
  }
  options.ca_file = flags.One("ca-file").value_or("");
  options.certificate_file = flags.One("cert-file").value_or("");
  options.key_file = flags.One("key-file").value_or("");
  options.tls = flags.Has("tls") || flags.Has("ca-file") || flags.Has("cert-file");
  ASSIGN_OR_RETURN(const std::unique_ptr<grpc_adapter::IssueClient> client,
                   grpc_adapter::IssueClient::Make(options));
  const IssueFilter filter{.job = flags.One("job").value_or(""),
                           .rule = flags.One("rule").value_or(""),
                           .severity = flags.One("severity").value_or(""),
                           .include_status = flags.Has("status"),
                           .incident = flags.One("incident").value_or(""),
                           .include_job_changes = verb == "watch" && !flags.Has("no-job-changes") &&
                                                  !flags.Has("incident") && !flags.Has("rule") &&
                                                  !flags.Has("severity")};
  const bool json = flags.Has("json");
  if (verb == "list") return List(filter, flags.Has("all"), json, client.get());
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
  const std::string verb =
      flags.ok() && flags->positional().size() == 1 ? flags->positional()[0] : "";
  if (help || (flags.ok() && verb != "list" && verb != "watch")) {
    const std::string text = Cat("pitwall issues list|watch [flags]\n", FlagHelp(IssueFlags()));
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
