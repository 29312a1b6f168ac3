// Command `pitwall capture JOB`: requests captures for a job's ranks from the collectors and prints
// the results.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/grpc/issue_client.h"
#include "services/app/cli/commands.h"
#include "services/app/cli/issue_reader.h"
#include "services/app/cli/topic_reading.h"
#include "services/app/command/flags.h"
#include "services/app/text/capture_text.h"
#include "services/app/text/jobs_from_topic.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/collector/capture/capture_client.h"
#include "services/io/topics.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;

constexpr int64_t kPollNs = 100 * kNanosPerMilli;
// Maximum time to wait for the first event of a recently started job.
constexpr int64_t kAppearNs = kNanosPerSecond;
// All collectors capture at the same time. A rank counts as unresponsive if its capture does not
// arrive within this time after the first capture.
constexpr int64_t kAfterFirstNs = 5 * kNanosPerSecond / 2;

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
        return InvalidArgument(
            Cat("--rank: must be a non-negative integer (got ", Quote(texts), ")"));
      wanted.ranks.push_back(*rank);
    }
  }
  if (wanted.ranks.size() > kMaxCaptureRanks)
    return InvalidArgument(Cat("--rank: at most ", kMaxCaptureRanks, " ranks are allowed (got ",
                               wanted.ranks.size(), ")"));
  if (const auto timeout = flags.One("timeout")) {
    const auto parsed = ParseDuration(*timeout);
    if (!parsed.ok() || *parsed < 3 * kNanosPerSecond || *parsed > 60 * kNanosPerSecond)
      return InvalidArgument(
          Cat("--timeout: must be a duration from 3s to 60s (got ", Quote(*timeout), ")"));
    wanted.timeout_ns = *parsed;
  }
  if (flags.Has("input") || flags.Has("data-dir") || flags.Has("brokers")) {
    if (flags.Has("target"))
      return InvalidArgument(
          "--target: cannot be combined with --data-dir or --brokers; specify only one of them");
    if (flags.Has("brokers") && flags.Has("socket"))
      return InvalidArgument(
          "--socket: cannot be combined with --brokers; specify only one of them");
  }
  return wanted;
}

bool IsSocket(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// Returns the first socket path set by an option or the environment, else an existing default path,
// else "".
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
        Cat("topic ", kControlTopic, ": not found; upgrade the running services"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Appender> appender, log->OpenAppender());
  CaptureRequest request;
  request.id = Cat("cli-", clock->WallNs(), "-", clock->MonotonicNs());
  request.job = wanted.job;
  request.ranks = wanted.ranks;
  request.principal = "broker";
  request.expires = EventTime::FromNs(clock->WallNs() + wanted.timeout_ns);
  RETURN_IF_ERROR(appender->Append({{.topic = std::string(kControlTopic),
                                     .key = request.job,
                                     .value = cloudevents::EncodeCaptureRequest(request)}}));
  return request.id;
}

// Requests the captures. Authorization is based on access to the broker, a token with the `act`
// role, or the job owner's access to the socket.
StatusOr<std::string> RequestCapture(const Flags& flags, const Wanted& wanted, Clock* clock) {
  if (flags.Has("brokers")) return AskLog(flags, wanted, clock);
  const std::string socket = flags.Has("token-file") ? "" : SocketOf(flags);
  if (!socket.empty())
    return collector::AskCollector(socket, wanted.job, wanted.ranks, wanted.timeout_ns);
  ASSIGN_OR_RETURN(const std::unique_ptr<grpc_adapter::IssueClient> client, OpenIssueClient(flags));
  StatusOr<std::string> id = client->AskCapture(wanted.job, wanted.ranks, wanted.timeout_ns);
  if (absl::IsUnauthenticated(id.status()) || absl::IsPermissionDenied(id.status())) {
    return absl::PermissionDeniedError(
        Cat(ToStd(id.status().message()),
            "; specify --token-file with a token that has the act role, or run as the job's owner "
            "and use "
            "the collector's socket (--socket, PITWALL_SOCKET, --data-dir)"));
  }
  return id;
}

// Checks that a collector can reply. Returns NotFound if no event mentions the job, and
// FailedPrecondition if the job has ended. Waits up to kAppearNs for the first event of a new job.
Status CheckRuns(const Flags& flags, const Wanted& wanted, Clock* clock) {
  const std::unique_ptr<Wakeup> pause = clock->NewWakeup();
  const int64_t deadline = clock->MonotonicNs() + kAppearNs;
  while (true) {
    JobsFromTopic known_jobs;
    ASSIGN_OR_RETURN(const std::unique_ptr<IssueReader> reader, IssueReader::Open(flags, clock));
    RETURN_IF_ERROR(
        reader->ForEach({.include_status = true, .include_job_changes = true},
                        [&known_jobs](const IssueEventPtr& event) { known_jobs.Apply(event); }));
    const StatusOr<const JobRecord*> job = known_jobs.Find(wanted.job);
    if (job.ok() && (*job)->id != wanted.job) {
      return InvalidArgument(
          Cat("job ", Quote(wanted.job), ": must be a complete ID; specify ", Quote((*job)->id)));
    }
    if (job.ok() && (*job)->ended()) {
      return FailedPrecondition(
          Cat("job ", Quote(wanted.job), ": job has ended; only running jobs can be captured"));
    }
    if (job.ok() || clock->MonotonicNs() >= deadline) return job.status();
    pause->Wait(kPollNs);
  }
}

StatusOr<std::vector<RankCapture>> Await(const Flags& flags, const Wanted& wanted,
                                         const std::string& id, Clock* clock) {
  const std::unique_ptr<Wakeup> pause = clock->NewWakeup();
  int64_t deadline = clock->MonotonicNs() + wanted.timeout_ns;
  size_t seen = 0;
  std::unique_ptr<IssueReader> reader;
  while (true) {
    // A log reader sees only the records that existed when the log was opened.
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
    pause->Wait(std::min(kPollNs, deadline - now));
  }
}

// Requests the captures, waits for them, and prints them. Returns false if at least one rank did
// not reply.
StatusOr<bool> Capture(const Flags& flags, const Wanted& wanted) {
  clock::SystemClock clock;
  ASSIGN_OR_RETURN(const std::string id, RequestCapture(flags, wanted, &clock));
  RETURN_IF_ERROR(CheckRuns(flags, wanted, &clock));
  ASSIGN_OR_RETURN(const std::vector<RankCapture> captures, Await(flags, wanted, id, &clock));
  const std::vector<int64_t> missing = MissingRanks(captures, wanted.ranks);
  if (flags.Has("json")) {
    for (const RankCapture& capture : NewestOfRanks(captures))
      PrintJson(cloudevents::EncodeRankCapture(capture) + "\n");
    if (!missing.empty())
      PrintError(Cat("pitwall capture: no reply from rank ", RanksText(missing), "\n"));
  } else if (!captures.empty() || !missing.empty()) {
    Print(CaptureText(captures, wanted.ranks) + "\n");
  }
  if (captures.empty()) {
    PrintError(Cat("pitwall capture: job ", Quote(wanted.job), ": no rank replied within ",
                   FormatDuration(wanted.timeout_ns),
                   "; `pitwall jobs list` prints the running jobs\n"));
  }
  return !captures.empty() && missing.empty();
}

int Run(const Flags& flags) {
  const StatusOr<Wanted> wanted = WantedOf(flags);
  if (!wanted.ok()) return ExitCodeOf("capture", wanted.status());
  const StatusOr<bool> done = Capture(flags, *wanted);
  if (done.ok()) return *done ? kFine : kCheckFailed;
  PrintFailure("capture", done.status());
  return kCheckFailed;
}

}  // namespace

Command CaptureCommand() {
  return {
      .name = "capture",
      .summary = "Capture the state, the phase, and the stacks of a running job's ranks",
      .usage = {"JOB [options]"},
      .details =
          "JOB is a complete job ID. Requires access to the brokers, a token with the role act, or "
          "the owner of\nthe job, who uses the collector's socket (docs/capture.md).\n",
      .min_arguments = 1,
      .max_arguments = 1,
      .options = JoinOptions(
          {{{"rank", Kind::kOne, "R[,R…]", "capture only these ranks; may be repeated"},
            {"timeout", Kind::kOne, "DURATION",
             "wait at most this long for replies, from 3s to 60s", "10s"},
            {"socket", Kind::kOne, "PATH",
             "socket of the collector (default: PITWALL_SOCKET, or /run/pitwall/collector.sock)"},
            {"json", Kind::kSwitch, "", "print one CloudEvent per rank"}},
           InputFlags()}),
      .examples = {"pitwall capture train", "pitwall capture train --rank 0,3 --timeout 20s"},
      .run = Run};
}

}  // namespace pitwall
