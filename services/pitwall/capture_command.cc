// `pitwall capture JOB`: asks the collectors what the ranks of a job do now, and prints it.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/grpc/issue_client.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/collector/capture/capture_client.h"
#include "services/io/topics.h"
#include "services/pitwall/capture_lines.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/issue_reader.h"
#include "services/pitwall/job_book.h"
#include "services/pitwall/topic_reading.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;

constexpr int64_t kLookEveryNs = 100 * kNanosPerMilli;
// For the first event of a job that has just begun.
constexpr int64_t kAppearNs = kNanosPerSecond;
// All collectors look at the same time: who is so much later than the first does not answer.
constexpr int64_t kAfterFirstNs = 5 * kNanosPerSecond / 2;

std::vector<FlagSpec> CaptureFlags() {
  std::vector<FlagSpec> specs = InputFlags();
  for (const FlagSpec& spec : std::initializer_list<FlagSpec>{
           {"rank", Kind::kOne, "R[,R…]", "only these ranks; may be repeated"},
           {"socket", Kind::kOne, "PATH",
            "the collector's socket (PITWALL_SOCKET): asks as the owner of the job"},
           {"timeout", Kind::kOne, "10s", "how long answers are awaited, from 3s to 60s"},
           {"json", Kind::kSwitch, "", "CloudEvents, one line for each rank"},
           {"help", Kind::kSwitch, "", "this text"},
       }) {
    specs.push_back(spec);
  }
  return specs;
}

struct Wanted {
  std::string job;
  std::vector<int64_t> ranks;
  int64_t timeout_ns = 10 * kNanosPerSecond;
};

StatusOr<Wanted> WantedOf(const Flags& flags) {
  Wanted wanted;
  wanted.job = flags.positional()[0];
  for (const std::string& texts : flags.Many("rank")) {
    for (const std::string_view text : Split(texts, ',')) {
      const auto rank = ParseInt(text);
      if (!rank.has_value() || *rank < 0 || *rank > INT32_MAX)
        return InvalidArgument(Cat("--rank ", texts, ": not a rank; write a number from 0"));
      wanted.ranks.push_back(*rank);
    }
  }
  if (wanted.ranks.size() > kMaxCaptureRanks)
    return InvalidArgument(Cat("--rank: more than ", kMaxCaptureRanks, " ranks"));
  if (const auto timeout = flags.One("timeout")) {
    const auto parsed = ParseDuration(*timeout);
    if (!parsed.ok() || *parsed < 3 * kNanosPerSecond || *parsed > 60 * kNanosPerSecond)
      return InvalidArgument(Cat("--timeout ", *timeout, ": not a duration from 3s to 60s"));
    wanted.timeout_ns = *parsed;
  }
  if (flags.Has("input") || flags.Has("data-dir") || flags.Has("brokers")) {
    if (flags.Has("target"))
      return InvalidArgument("--target beside --data-dir or --brokers: one of them is enough");
    if (flags.Has("brokers") && flags.Has("socket"))
      return InvalidArgument("--socket beside --brokers: one of them is enough");
  }
  return wanted;
}

bool IsSocket(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// The first that is named, or is there; "": none.
std::string SocketOf(const Flags& flags) {
  if (const auto path = flags.One("socket")) return *path;
  for (const char* flag : {"data-dir", "input"}) {
    if (const auto dir = flags.One(flag)) return *dir + "/collector.sock";
  }
  if (const char* path = std::getenv("PITWALL_SOCKET"); path != nullptr && *path != 0) return path;
  std::string path = "/run/pitwall/collector.sock";
  if (IsSocket(path)) return path;
  const char* home = std::getenv("XDG_RUNTIME_DIR");
  path = Cat(home == nullptr ? "" : home, "/pitwall/collector.sock");
  return home != nullptr && IsSocket(path) ? path : "";
}

StatusOr<std::string> AskLog(const Flags& flags, const Wanted& wanted, Clock* clock) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Log> log, OpenLogInput(flags, clock));
  if (const auto there = log->Partitions(kControlTopic); absl::IsNotFound(there.status()))
    return FailedPrecondition(
        Cat("topic ", kControlTopic, ": not found; what runs is of an earlier version"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Appender> appender, log->OpenAppender());
  CaptureRequest request;
  request.id = Cat("cli-", clock->WallNs(), "-", clock->MonotonicNs());
  request.job = wanted.job;
  request.ranks = wanted.ranks;
  request.principal = "broker";
  request.expires_ns = clock->WallNs() + wanted.timeout_ns;
  RETURN_IF_ERROR(appender->Append({{.topic = std::string(kControlTopic),
                                     .key = request.job,
                                     .value = cloudevents::EncodeCaptureRequest(request)}}));
  return request.id;
}

// The broker's rights, the token of the role act, or the owner of the job by the socket.
StatusOr<std::string> Ask(const Flags& flags, const Wanted& wanted, Clock* clock) {
  if (flags.Has("brokers")) return AskLog(flags, wanted, clock);
  const std::string socket = flags.Has("token-file") ? "" : SocketOf(flags);
  if (!socket.empty())
    return collector::AskCollector(socket, wanted.job, wanted.ranks, wanted.timeout_ns);
  ASSIGN_OR_RETURN(const std::unique_ptr<grpc_adapter::IssueClient> client, OpenIssueClient(flags));
  StatusOr<std::string> id = client->AskCapture(wanted.job, wanted.ranks, wanted.timeout_ns);
  if (absl::IsUnauthenticated(id.status()) || absl::IsPermissionDenied(id.status())) {
    return absl::PermissionDeniedError(
        Cat(ToStd(id.status().message()),
            "; give --token-file with the token of the role act, or ask as the owner of the job by "
            "the collector's socket (--socket, PITWALL_SOCKET, --data-dir)"));
  }
  return id;
}

// NotFound if no event names the job, FailedPrecondition if it has ended: nobody would answer. A
// job that has just begun gets a moment for its first event.
Status CheckRuns(const Flags& flags, const Wanted& wanted, Clock* clock) {
  const std::unique_ptr<Wakeup> pause = clock->NewWakeup();
  const int64_t deadline = clock->MonotonicNs() + kAppearNs;
  while (true) {
    JobBook book;
    ASSIGN_OR_RETURN(const std::unique_ptr<IssueReader> reader, IssueReader::Open(flags, clock));
    RETURN_IF_ERROR(reader->ForEach({.include_status = true, .include_job_changes = true},
                                    [&book](const IssueEventPtr& event) { book.Apply(event); }));
    const StatusOr<const JobRecord*> job = book.Find(wanted.job);
    if (job.ok() && (*job)->id != wanted.job) {
      return InvalidArgument(
          Cat("job ", Quote(wanted.job), ": not a whole ID; give ", Quote((*job)->id)));
    }
    if (job.ok() && (*job)->ended()) {
      return FailedPrecondition(
          Cat("job ", Quote(wanted.job), ": has ended; only a running job can be captured"));
    }
    if (job.ok() || clock->MonotonicNs() >= deadline) return job.status();
    pause->Wait(kLookEveryNs);
  }
}

StatusOr<std::vector<RankCapture>> Await(const Flags& flags, const Wanted& wanted,
                                         const std::string& id, Clock* clock) {
  const std::unique_ptr<Wakeup> pause = clock->NewWakeup();
  int64_t deadline = clock->MonotonicNs() + wanted.timeout_ns;
  size_t seen = 0;
  std::unique_ptr<IssueReader> reader;
  while (true) {
    // A directory is as it was when it was opened.
    if (reader == nullptr || HasLogInput(flags)) {
      ASSIGN_OR_RETURN(reader, IssueReader::Open(flags, clock));
    }
    ASSIGN_OR_RETURN(std::vector<RankCapture> captures, reader->Captures(id, ""));
    const int64_t now = clock->MonotonicNs();
    if (seen == 0 && !captures.empty()) deadline = std::min(deadline, now + kAfterFirstNs);
    seen = captures.size();
    const bool sized = std::any_of(captures.begin(), captures.end(),
                                   [](const RankCapture& c) { return c.world_size > 0; });
    const bool complete = !captures.empty() && (sized || !wanted.ranks.empty()) &&
                          MissingRanks(captures, wanted.ranks).empty();
    if (complete || now >= deadline) return captures;
    pause->Wait(std::min(kLookEveryNs, deadline - now));
  }
}

// False: a rank did not answer.
StatusOr<bool> Capture(const Flags& flags, const Wanted& wanted) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::string id, Ask(flags, wanted, &clock));
  RETURN_IF_ERROR(CheckRuns(flags, wanted, &clock));
  ASSIGN_OR_RETURN(const std::vector<RankCapture> captures, Await(flags, wanted, id, &clock));
  const std::vector<int64_t> missing = MissingRanks(captures, wanted.ranks);
  if (flags.Has("json")) {
    for (const RankCapture& capture : NewestOfRanks(captures))
      PrintJson(cloudevents::EncodeRankCapture(capture) + "\n");
    if (!missing.empty())
      PrintError(Cat("pitwall capture: no answer of rank ", RanksText(missing), "\n"));
  } else if (!captures.empty() || !missing.empty()) {
    Print(CaptureText(captures, wanted.ranks) + "\n");
  }
  if (captures.empty()) {
    PrintError(Cat("pitwall capture: job ", Quote(wanted.job), ": no rank answered within ",
                   FormatDuration(wanted.timeout_ns),
                   "; `pitwall jobs list` shows the jobs that run\n"));
  }
  return !captures.empty() && missing.empty();
}

}  // namespace

int RunCapture(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(CaptureFlags(), arguments);
  const bool help = flags.ok() && flags->Has("help");
  if (help || (flags.ok() && flags->positional().size() != 1)) {
    const std::string text = Cat("pitwall capture JOB [flags]\n", FlagHelp(CaptureFlags()));
    help ? Print(text) : PrintError(text);
    return help ? kFine : kUsage;
  }
  const StatusOr<Wanted> wanted = flags.ok() ? WantedOf(*flags) : StatusOr<Wanted>(flags.status());
  const StatusOr<bool> done =
      wanted.ok() ? Capture(*flags, *wanted) : StatusOr<bool>(wanted.status());
  if (done.ok()) return *done ? kFine : kCheckFailed;
  PrintError(Cat("pitwall capture: ", ToStd(done.status().message()), "\n"));
  return wanted.ok() ? kCheckFailed : kUsage;
}

}  // namespace pitwall
