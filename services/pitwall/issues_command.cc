// `pitwall issues list|watch`: a client of a running system.
#include <cstdio>

#include "absl/time/time.h"
#include "services/adapters/grpc/issue_client.h"
#include "services/base/files.h"
#include "services/base/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"

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
      {"status", Kind::kSwitch, "", "status changes of rules too"},
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

std::string When(int64_t ns) {
  return ns == 0 ? "-"
                 : absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(ns),
                                    absl::UTCTimeZone());
}

void Print(const IssueEvent& event, bool json) {
  std::string line;
  if (json) {
    line = cloudevents::EncodeCloudEvent(event);
  } else if (event.type == EventType::kRuleStatus) {
    line = Cat(When(event.time_ns), "  ", RuleStatusName(event.status), "  ", event.rule, "  job ",
               event.job, "  ", event.status_reason);
  } else {
    const std::string_view what = event.type == EventType::kIssueFound      ? "FOUND   "
                                  : event.type == EventType::kIssueResolved ? "RESOLVED"
                                                                            : "UPDATED ";
    line = Cat(When(event.time_ns), "  ", what, "  ", event.alert, "  ", event.severity, "  job ",
               event.job_name.empty() ? event.job : event.job_name, "  ",
               event.type == EventType::kIssueResolved ? EndReasonName(event.end_reason)
                                                       : std::string_view(event.summary));
  }
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
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
                           .include_status = flags.Has("status")};
  const bool json = flags.Has("json");
  if (verb == "list") {
    IssueQuery query{.filter = filter, .include_ended = flags.Has("all"), .page_size = 1000};
    do {
      ASSIGN_OR_RETURN(const IssuePage page, client->List(query));
      for (const IssueEventPtr& event : page.issues) Print(*event, json);
      query.page_token = page.next_page_token;
    } while (!query.page_token.empty());
    return OkStatus();
  }
  const WatchQuery query{.filter = filter,
                         .resume_token = flags.One("resume").value_or(""),
                         .from_start = flags.Has("from-start")};
  return client->Watch(query, [&](const WatchBatch& batch) {
    for (const IssueEventPtr& event : batch.events) {
      Print(*event, json);
      // Cut in the middle of a batch there is no token for what was printed: only whole batches
      // have one.
      if (--left == 0) return false;
    }
    if (flags.Has("print-token")) std::fprintf(stderr, "token %s\n", batch.resume_token.c_str());
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
    std::fprintf(help ? stdout : stderr, "pitwall issues list|watch [flags]\n%s",
                 FlagHelp(IssueFlags()).c_str());
    return help ? kFine : kUsage;
  }
  const StatusOr<int64_t> limit = flags.ok() ? Limit(*flags) : StatusOr<int64_t>(flags.status());
  const Status status = limit.ok() ? Run(verb, *flags, *limit) : limit.status();
  if (status.ok()) return kFine;
  std::fprintf(stderr, "pitwall issues: %s\n", std::string(ToStd(status.message())).c_str());
  return limit.ok() ? kFailed : kUsage;
}

}  // namespace pitwall
