// `pitwall loadgen`: telemetry of jobs that nobody trains, with faults that are known.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/json_writer.h"
#include "services/io/topics.h"
#include "services/loadgen/load_run.h"
#include "services/loadgen/socket_load.h"
#include "services/model/position.h"
#include "services/pitwall/commands.h"
#include "services/pitwall/flags.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using loadgen::LoadPlan;

constexpr char kUsageText[] =
    R"(pitwall loadgen --data-dir DIR | --brokers HOSTS | --socket PATH | --discard  [flags]

Makes telemetry of jobs with the names, labels and values of the real collector and client, by a seed: the same flags give
the same bytes. Faults are planted and told as JSON lines on stdout, each with the issues of pack:default that it must
lead to; the last line has the totals (docs/loadgen.md). Without --live it runs as fast as it can, with times of its own
from --start on; with --live, and always with --socket, in real time from now on.

  --fault KIND[,KEY=VALUE…]: straggler (rank, factor), stall (share; rank: that one only), hang (rank), death (rank, signal,
  restart), nan (rank), gpu (rank, restart), leak (rank, rate of the node's memory an hour); each with job (from 0),
  from=DURATION after the job's start or from=step:N, for=DURATION. What is left open the seed decides.

)";

const std::vector<FlagSpec>& LoadFlags() {
  static const std::vector<FlagSpec> specs = {
      {"data-dir", Kind::kOne, "DIR", "into the embedded log there (as standalone --data-dir)"},
      {"brokers", Kind::kOne, "HOSTS", "into pitwall.telemetry of this Kafka (host:port,…)"},
      {"socket", Kind::kOne, "PATH", "ranks only, to the collector that listens there"},
      {"discard", Kind::kSwitch, "", "into nothing: plan and totals only"},
      {"partitions", Kind::kOne, "N", "of the topic, where it is made (4)"},
      {"seed", Kind::kOne, "N", "of everything that is random (1)"},
      {"name", Kind::kOne, "TEXT", "jobs are called TEXT-0, TEXT-1, … (load)"},
      {"jobs", Kind::kOne, "N", "at once (1)"},
      {"nodes", Kind::kOne, "N", "of a job (1)"},
      {"gpus", Kind::kOne, "N", "of a node (8)"},
      {"cores", Kind::kOne, "N", "of a node (96)"},
      {"ranks", Kind::kOne, "N", "of a job (one a GPU; without GPUs one a node; 0: none)"},
      {"step", Kind::kOne, "DURATION", "of a healthy step (400ms)"},
      {"steps", Kind::kOne, "N", "a job ends after so many (at the end of --duration)"},
      {"interval", Kind::kOne, "DURATION", "between two samples of a node (500ms)"},
      {"hz", Kind::kOne, "N", "the same as samples a second"},
      {"logged", Kind::kOne, "N", "values beside the loss that a rank logs each step, to 100 (3)"},
      {"start", Kind::kOne, "TIME", "RFC 3339 or Unix seconds (so that the load ends now)"},
      {"duration", Kind::kOne, "DURATION", "of the load in its own time (10m)"},
      {"live", Kind::kSwitch, "", "in real time, from now on"},
      {"churn", Kind::kOne, "DURATION",
       "jobs live half to one and a half of it; others take their places"},
      {"fault", Kind::kMany, "SPEC", "plants a fault, see above"},
      {"faults", Kind::kOne, "N", "plants N more of random kinds, each in a job of its own"},
      {"late", Kind::kOne, "SHARE",
       "of batches that come late, with all behind them of the source"},
      {"late-by", Kind::kOne, "DURATION", "at most (3s)"},
      {"drop", Kind::kOne, "SHARE", "of batches that never come"},
      {"duplicate", Kind::kOne, "SHARE", "of batches that come twice"},
      {"reorder", Kind::kOne, "SHARE", "of batches that come after the next one of their source"},
      {"ticks", Kind::kSwitch, "",
       "clock ticks of the partitions' owner too: for a log that only backtest reads"},
      {"help", Kind::kSwitch, "", "this text"},
  };
  return specs;
}

// The log's clock is the load's: append times are those of the arrivals.
class LoadClock final : public Clock {
 public:
  int64_t WallNs() const override { return now_ns_.load(); }
  int64_t MonotonicNs() const override { return now_ns_.load(); }
  std::unique_ptr<Wakeup> NewWakeup() override { return system_.NewWakeup(); }
  void Set(int64_t now_ns) { now_ns_.store(std::max(now_ns, now_ns_.load())); }

 private:
  std::atomic<int64_t> now_ns_{0};
  clock::SystemClock system_;
};

// Groups what arrives together, so that an append is worth its while.
class LogSink final : public loadgen::LoadSink {
 public:
  // `own` is null where the log has the machine's time. Borrowed, as is `pace` (null: no waiting).
  LogSink(std::unique_ptr<Appender> appender, int32_t partitions, LoadClock* own, Clock* pace)
      : appender_(std::move(appender)),
        partitions_(partitions),
        own_(own),
        pace_(pace),
        wakeup_(pace == nullptr ? nullptr : pace->NewWakeup()) {}

  Status Deliver(int64_t arrival_ns, std::string_view key, std::string value,
                 int32_t partition) override {
    if (!waiting_.empty() &&
        (arrival_ns - first_ns_ > kGroupNs || bytes_ > kGroupBytes || waiting_.size() >= kGroup))
      RETURN_IF_ERROR(Flush());
    if (waiting_.empty()) first_ns_ = arrival_ns;
    last_ns_ = arrival_ns;
    bytes_ += value.size();
    waiting_.push_back({.topic = std::string(kTelemetryTopic),
                        .partition = partition,
                        .key = std::string(key),
                        .value = std::move(value)});
    return OkStatus();
  }

  Status Reach(int64_t now_ns) override {
    if (pace_ == nullptr) return OkStatus();
    for (int64_t left = now_ns - pace_->WallNs(); left > 0; left = now_ns - pace_->WallNs()) {
      RETURN_IF_ERROR(Flush());
      wakeup_->Wait(std::min(left, kNanosPerSecond));
    }
    return OkStatus();
  }

  int32_t partitions() const override { return partitions_; }

  Status Flush() {
    if (waiting_.empty()) return OkStatus();
    if (own_ != nullptr) own_->Set(last_ns_);
    bytes_ = 0;
    return appender_->Append(std::exchange(waiting_, {}));
  }

 private:
  static constexpr int64_t kGroupNs = 200 * kNanosPerMilli;
  static constexpr size_t kGroupBytes = 4u << 20;
  static constexpr size_t kGroup = 2000;

  const std::unique_ptr<Appender> appender_;
  const int32_t partitions_;
  LoadClock* const own_;
  Clock* const pace_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::vector<OutgoingRecord> waiting_;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  size_t bytes_ = 0;
};

class NoSink final : public loadgen::LoadSink {
 public:
  Status Deliver(int64_t, std::string_view, std::string, int32_t) override { return OkStatus(); }
  Status Reach(int64_t) override { return OkStatus(); }
  int32_t partitions() const override { return 1; }
};

Status ReadWhole(const Flags& flags, std::string_view name, int64_t* out) {
  const auto text = flags.One(name);
  if (!text.has_value()) return OkStatus();
  const auto number = ParseInt(*text);
  if (!number.has_value() || *number < 0)
    return InvalidArgument(Cat("--", name, " must be a whole number (", Quote(*text), ")"));
  *out = *number;
  return OkStatus();
}

Status ReadTime(const Flags& flags, std::string_view name, int64_t* out) {
  const auto text = flags.One(name);
  if (!text.has_value()) return OkStatus();
  const auto time = ParseDuration(*text);
  if (!time.ok() || *time <= 0)
    return InvalidArgument(Cat("--", name, " must be a duration like 90s (", Quote(*text), ")"));
  *out = *time;
  return OkStatus();
}

Status ReadShare(const Flags& flags, std::string_view name, double* out) {
  const auto text = flags.One(name);
  if (!text.has_value()) return OkStatus();
  const auto number = ParseDouble(*text);
  if (!number.has_value() || !(*number >= 0 && *number <= 1))
    return InvalidArgument(Cat("--", name, " must be 0 to 1 (", Quote(*text), ")"));
  *out = *number;
  return OkStatus();
}

Status ReadStart(const Flags& flags, bool live, int64_t now_ns, LoadPlan* plan) {
  const auto text = flags.One("start");
  if (live) {
    if (text.has_value()) return InvalidArgument("--start: a live load begins now");
    plan->start_ns = FloorTo(now_ns, kNanosPerSecond) + kNanosPerSecond;
    return OkStatus();
  }
  if (!text.has_value()) {
    plan->start_ns = FloorTo(now_ns - plan->duration_ns, kNanosPerSecond);
    return OkStatus();
  }
  absl::Time time;
  std::string error;
  if (const auto seconds = ParseDouble(*text);
      seconds.has_value() && *seconds > 0 && *seconds < 9e9) {
    plan->start_ns = static_cast<int64_t>(*seconds) * kNanosPerSecond;
  } else if (absl::ParseTime(absl::RFC3339_full, *text, &time, &error) &&
             absl::ToUnixNanos(time) > 0) {
    plan->start_ns = absl::ToUnixNanos(time);
  } else {
    return InvalidArgument(
        Cat("--start must be like 2026-01-02T03:04:05Z, or Unix seconds (", Quote(*text), ")"));
  }
  return OkStatus();
}

StatusOr<LoadPlan> ReadPlan(const Flags& flags, bool live, int64_t now_ns) {
  LoadPlan plan;
  int64_t seed = 1;
  int64_t count = 0;
  RETURN_IF_ERROR(ReadWhole(flags, "seed", &seed));
  plan.seed = static_cast<uint64_t>(seed);
  plan.name = flags.One("name").value_or(plan.name);
  for (const auto& [name, field] :
       {std::pair("jobs", &plan.jobs), std::pair("nodes", &plan.nodes),
        std::pair("gpus", &plan.gpus), std::pair("cores", &plan.cores),
        std::pair("ranks", &plan.ranks), std::pair("steps", &plan.steps),
        std::pair("logged", &plan.logged_metrics), std::pair("faults", &count)})
    RETURN_IF_ERROR(ReadWhole(flags, name, field));
  for (const auto& [name, field] :
       {std::pair("step", &plan.step_ns), std::pair("interval", &plan.interval_ns),
        std::pair("duration", &plan.duration_ns), std::pair("churn", &plan.life_ns),
        std::pair("late-by", &plan.late_by_ns)})
    RETURN_IF_ERROR(ReadTime(flags, name, field));
  for (const auto& [name, field] :
       {std::pair("late", &plan.late), std::pair("drop", &plan.dropped),
        std::pair("duplicate", &plan.duplicated), std::pair("reorder", &plan.reordered)})
    RETURN_IF_ERROR(ReadShare(flags, name, field));
  if (const auto hz = flags.One("hz")) {
    if (flags.Has("interval")) return InvalidArgument("--hz beside --interval: one is enough");
    const auto number = ParseDouble(*hz);
    if (!number.has_value() || !(*number >= 0.02 && *number <= 100))
      return InvalidArgument(Cat("--hz must be 0.02 to 100 (", Quote(*hz), ")"));
    plan.interval_ns = static_cast<int64_t>(1000 / *number) * kNanosPerMilli;
  }
  plan.ticks = flags.Has("ticks");
  RETURN_IF_ERROR(ReadStart(flags, live, now_ns, &plan));
  for (const std::string& text : flags.Many("fault")) {
    ASSIGN_OR_RETURN(loadgen::Fault fault, loadgen::ParseFault(text));
    plan.faults.push_back(std::move(fault));
  }
  RETURN_IF_ERROR(CheckPlan(plan));
  RETURN_IF_ERROR(CompleteFaults(count, &plan));
  return plan;
}

std::atomic<bool> stop_asked{false};
void AskStop(int) { stop_asked = true; }

Status RunInto(Log* log, const Flags& flags, const LoadPlan& plan, LoadClock* own, Clock* pace,
               loadgen::LoadTotals* totals,
               const std::function<void(const loadgen::Planted&)>& begun) {
  int64_t wanted = 4;
  RETURN_IF_ERROR(ReadWhole(flags, "partitions", &wanted));
  if (wanted < 1 || wanted > 1000)
    return InvalidArgument(Cat("--partitions must be 1 to 1000 (", wanted, ")"));
  auto partitions = log->Partitions(kTelemetryTopic);
  if (absl::IsNotFound(partitions.status())) {
    RETURN_IF_ERROR(
        log->EnsureTopic(kTelemetryTopic, {.partitions = static_cast<int32_t>(wanted)}));
    partitions = log->Partitions(kTelemetryTopic);
  }
  RETURN_IF_ERROR(partitions.status());
  ASSIGN_OR_RETURN(std::unique_ptr<Appender> appender, log->OpenAppender());
  LogSink sink(std::move(appender), *partitions, own, pace);
  loadgen::LoadRun run(plan, &sink);
  RETURN_IF_ERROR(run.Run(begun, &stop_asked));
  *totals = run.totals();
  return sink.Flush();
}

Status RunSocket(const LoadPlan& plan, const std::string& path, Clock* clock,
                 const std::function<void(const loadgen::Planted&)>& begun) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  loadgen::SocketLoad load(plan, path, *clock);
  RETURN_IF_ERROR(load.Run(begun, &stop_asked));
  cloudevents::JsonWriter out;
  out.BeginObject();
  out.Key("totals");
  out.BeginObject();
  for (const auto& [name, value] :
       {std::pair("ranks", load.totals().ranks), std::pair("updates", load.totals().updates),
        std::pair("spans", load.totals().spans), std::pair("values", load.totals().values)}) {
    out.Key(name);
    out.Uint(value);
  }
  out.EndObject();
  out.EndObject();
  PrintJson(out.Take() + "\n");
  return OkStatus();
}

Status Generate(const Flags& flags) {
  const int outputs = (flags.Has("data-dir") ? 1 : 0) + (flags.Has("brokers") ? 1 : 0) +
                      (flags.Has("socket") ? 1 : 0) + (flags.Has("discard") ? 1 : 0);
  if (outputs != 1)
    return InvalidArgument("one of --data-dir, --brokers, --socket and --discard is needed");
  clock::SystemClock system;
  const bool live = flags.Has("live") || flags.Has("socket");
  if (live && flags.Has("ticks"))
    return InvalidArgument("--ticks: a live log gets its ticks from its processor");
  ASSIGN_OR_RETURN(const LoadPlan plan, ReadPlan(flags, live, system.WallNs()));
  size_t planted_faults = 0;
  const auto begun = [&](const loadgen::Planted& planted) {
    ++planted_faults;
    PrintJson(PlantedJson(planted, plan.ranks_of_job()) + "\n");
    FlushOutput();
  };
  // Whoever compares with the plan must not take a fault that never began for one that is not
  // found.
  const auto all_begun = [&]() -> Status {
    if (planted_faults == plan.faults.size() || stop_asked) return OkStatus();
    return absl::FailedPreconditionError(
        Cat(plan.faults.size() - planted_faults, " of ", plan.faults.size(),
            " faults never began: their jobs ended before; give an earlier from or a longer "
            "--duration"));
  };
  if (const auto path = flags.One("socket")) {
    RETURN_IF_ERROR(RunSocket(plan, *path, &system, begun));
    return all_begun();
  }
  loadgen::LoadTotals totals;
  if (const auto brokers = flags.One("brokers")) {
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Log> log,
        kafka::OpenKafkaLog({.brokers = *brokers, .client_id = "pitwall-loadgen"}, &system));
    RETURN_IF_ERROR(
        RunInto(log.get(), flags, plan, nullptr, live ? &system : nullptr, &totals, begun));
  } else if (const auto dir = flags.One("data-dir")) {
    LoadClock own;
    own.Set(plan.start_ns);
    log::EmbeddedLogOptions options;
    options.dir = *dir + "/log";
    options.background = live;
    ASSIGN_OR_RETURN(const std::unique_ptr<log::EmbeddedLog> log,
                     log::OpenEmbeddedLog(options, live ? static_cast<Clock*>(&system) : &own));
    RETURN_IF_ERROR(RunInto(log.get(), flags, plan, live ? nullptr : &own, live ? &system : nullptr,
                            &totals, begun));
    RETURN_IF_ERROR(log->Sync());
  } else {
    NoSink sink;
    loadgen::LoadRun run(plan, &sink);
    RETURN_IF_ERROR(run.Run(begun, &stop_asked));
    totals = run.totals();
  }
  PrintJson(TotalsJson(totals) + "\n");
  return all_begun();
}

}  // namespace

int RunLoadgen(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(LoadFlags(), arguments);
  if (!flags.ok()) {
    PrintError(Cat("pitwall loadgen: ", ToStd(flags.status().message()), "\n"));
    return kUsage;
  }
  if (flags->Has("help") || !flags->positional().empty()) {
    const std::string text = Cat(kUsageText, FlagHelp(LoadFlags()));
    flags->Has("help") ? Print(text) : PrintError(text);
    return flags->Has("help") ? kFine : kUsage;
  }
  std::signal(SIGINT, AskStop);
  std::signal(SIGTERM, AskStop);
  const Status status = Generate(*flags);
  if (status.ok()) return kFine;
  PrintError(Cat("pitwall loadgen: ", ToStd(status.message()), "\n"));
  return absl::IsInvalidArgument(status) ? kUsage : kCheckFailed;
}

}  // namespace pitwall
