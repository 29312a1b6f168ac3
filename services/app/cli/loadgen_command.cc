// Command `pitwall loadgen`: generates telemetry for simulated jobs with injected faults.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/adapters/clock/system_clock.h"
#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/kafka/kafka_log.h"
#include "services/app/cli/commands.h"
#include "services/app/command/flags.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_writer.h"
#include "services/io/topics.h"
#include "services/loadgen/load_run.h"
#include "services/loadgen/socket_load.h"
#include "services/model/position.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using loadgen::LoadPlan;

// Clock for the log. Follows the simulated time, so append times equal the simulated arrival times.
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

// Sink that appends records with similar arrival times in one batch.
class LogSink final : public loadgen::LoadSink {
 public:
  // `own` is null if the log uses the system clock. `pace` is null if the load is not throttled to
  // real time. Both must outlive the sink.
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
    return InvalidArgument(
        Cat("--", name, ": must be a non-negative integer (got ", Quote(*text), ")"));
  *out = *number;
  return OkStatus();
}

Status ReadTime(const Flags& flags, std::string_view name, int64_t* out) {
  const auto text = flags.One(name);
  if (!text.has_value()) return OkStatus();
  const auto time = ParseDuration(*text);
  if (!time.ok() || *time <= 0)
    return InvalidArgument(
        Cat("--", name, ": must be a duration like 90s (got ", Quote(*text), ")"));
  *out = *time;
  return OkStatus();
}

Status ReadShare(const Flags& flags, std::string_view name, double* out) {
  const auto text = flags.One(name);
  if (!text.has_value()) return OkStatus();
  const auto number = ParseDouble(*text);
  if (!number.has_value() || !(*number >= 0 && *number <= 1))
    return InvalidArgument(Cat("--", name, ": must be 0 to 1 (got ", Quote(*text), ")"));
  *out = *number;
  return OkStatus();
}

Status ReadStart(const Flags& flags, bool live, int64_t now_ns, LoadPlan* plan) {
  const auto text = flags.One("start");
  if (live) {
    if (text.has_value())
      return InvalidArgument(
          "--start: cannot be combined with --live or --socket, which start now");
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
        Cat("--start: must be a time like 2026-01-02T03:04:05Z or Unix seconds (got ", Quote(*text),
            ")"));
  }
  return OkStatus();
}

Status ReadNumbers(const Flags& flags, int64_t* faults, LoadPlan* plan) {
  int64_t seed = 1;
  RETURN_IF_ERROR(ReadWhole(flags, "seed", &seed));
  plan->seed = static_cast<uint64_t>(seed);
  for (const auto& [name, field] :
       {std::pair("jobs", &plan->jobs), std::pair("nodes", &plan->nodes),
        std::pair("gpus", &plan->gpus), std::pair("cores", &plan->cores),
        std::pair("ranks", &plan->ranks), std::pair("steps", &plan->steps),
        std::pair("logged", &plan->logged_metrics), std::pair("faults", faults)})
    RETURN_IF_ERROR(ReadWhole(flags, name, field));
  for (const auto& [name, field] :
       {std::pair("step", &plan->step_ns), std::pair("interval", &plan->interval_ns),
        std::pair("duration", &plan->duration_ns), std::pair("churn", &plan->life_ns),
        std::pair("late-by", &plan->delivery.late_by_ns)})
    RETURN_IF_ERROR(ReadTime(flags, name, field));
  for (const auto& [name, field] :
       {std::pair("late", &plan->delivery.late), std::pair("drop", &plan->delivery.dropped),
        std::pair("duplicate", &plan->delivery.duplicated),
        std::pair("reorder", &plan->delivery.reordered)})
    RETURN_IF_ERROR(ReadShare(flags, name, field));
  return OkStatus();
}

Status ReadRate(const Flags& flags, LoadPlan* plan) {
  const auto hz = flags.One("hz");
  if (!hz.has_value()) return OkStatus();
  if (flags.Has("interval"))
    return InvalidArgument("--hz: cannot be combined with --interval; specify only one of them");
  const auto number = ParseDouble(*hz);
  if (!number.has_value() || !(*number >= 0.02 && *number <= 100))
    return InvalidArgument(Cat("--hz: must be 0.02 to 100 (got ", Quote(*hz), ")"));
  plan->interval_ns = static_cast<int64_t>(1000 / *number) * kNanosPerMilli;
  return OkStatus();
}

StatusOr<LoadPlan> ReadPlan(const Flags& flags, bool live, int64_t now_ns) {
  LoadPlan plan;
  int64_t faults = 0;
  plan.name = flags.One("name").value_or(plan.name);
  RETURN_IF_ERROR(ReadNumbers(flags, &faults, &plan));
  RETURN_IF_ERROR(ReadRate(flags, &plan));
  plan.ticks = flags.Has("ticks");
  RETURN_IF_ERROR(ReadStart(flags, live, now_ns, &plan));
  for (const std::string& text : flags.Many("fault")) {
    ASSIGN_OR_RETURN(loadgen::Fault fault, loadgen::ParseFault(text));
    plan.faults.push_back(std::move(fault));
  }
  RETURN_IF_ERROR(CheckPlan(plan));
  RETURN_IF_ERROR(CompleteFaults(faults, &plan));
  return plan;
}

std::atomic<bool> stop_requested{false};
void RequestStop(int) { stop_requested = true; }

using OnPlanted = std::function<void(const loadgen::Planted&)>;

Status RunInto(Log* log, const Flags& flags, const LoadPlan& plan, LoadClock* own, Clock* pace,
               loadgen::LoadTotals* totals, const OnPlanted& begun) {
  int64_t wanted = 4;
  RETURN_IF_ERROR(ReadWhole(flags, "partitions", &wanted));
  if (wanted < 1 || wanted > 1000)
    return InvalidArgument(Cat("--partitions: must be 1 to 1000 (got ", wanted, ")"));
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
  RETURN_IF_ERROR(run.Run(begun, &stop_requested));
  *totals = run.totals();
  return sink.Flush();
}

Status RunSocket(const LoadPlan& plan, const std::string& path, Clock* clock,
                 const OnPlanted& begun) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  loadgen::SocketLoad load(plan, path, *clock);
  RETURN_IF_ERROR(load.Run(begun, &stop_requested));
  codec::JsonWriter out;
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

StatusOr<loadgen::LoadTotals> RunKafka(const Flags& flags, const LoadPlan& plan, bool live,
                                       const OnPlanted& begun) {
  clock::SystemClock system;
  loadgen::LoadTotals totals;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Log> log,
      kafka::OpenKafkaLog(
          {.brokers = flags.One("brokers").value_or(""), .client_id = "pitwall-loadgen"}, &system));
  RETURN_IF_ERROR(
      RunInto(log.get(), flags, plan, nullptr, live ? &system : nullptr, &totals, begun));
  return totals;
}

StatusOr<loadgen::LoadTotals> RunEmbedded(const Flags& flags, const LoadPlan& plan, bool live,
                                          const OnPlanted& begun) {
  clock::SystemClock system;
  loadgen::LoadTotals totals;
  LoadClock own;
  own.Set(plan.start_ns);
  log::EmbeddedLogOptions options;
  options.dir = flags.One("data-dir").value_or("") + "/log";
  options.background = live;
  ASSIGN_OR_RETURN(const std::unique_ptr<log::EmbeddedLog> log,
                   log::OpenEmbeddedLog(options, live ? static_cast<Clock*>(&system) : &own));
  RETURN_IF_ERROR(RunInto(log.get(), flags, plan, live ? nullptr : &own, live ? &system : nullptr,
                          &totals, begun));
  RETURN_IF_ERROR(log->Sync());
  return totals;
}

StatusOr<loadgen::LoadTotals> RunDiscarded(const LoadPlan& plan, const OnPlanted& begun) {
  NoSink sink;
  loadgen::LoadRun run(plan, &sink);
  RETURN_IF_ERROR(run.Run(begun, &stop_requested));
  return run.totals();
}

Status CheckOutputs(const Flags& flags, bool live) {
  const int outputs = (flags.Has("data-dir") ? 1 : 0) + (flags.Has("brokers") ? 1 : 0) +
                      (flags.Has("socket") ? 1 : 0) + (flags.Has("discard") ? 1 : 0);
  if (outputs != 1)
    return InvalidArgument(Cat("output: exactly one is required (got ", outputs,
                               "); specify --data-dir, --brokers, --socket, or --discard"));
  if (live && flags.Has("ticks"))
    return InvalidArgument(
        "--ticks: cannot be combined with --live or --socket; the processor emits live ticks");
  return OkStatus();
}

Status Generate(const Flags& flags) {
  const bool live = flags.Has("live") || flags.Has("socket");
  RETURN_IF_ERROR(CheckOutputs(flags, live));
  clock::SystemClock system;
  ASSIGN_OR_RETURN(const LoadPlan plan, ReadPlan(flags, live, system.WallNs()));
  size_t planted_faults = 0;
  const auto begun = [&](const loadgen::Planted& planted) {
    ++planted_faults;
    PrintJson(PlantedJson(planted, plan.ranks_of_job()) + "\n");
    FlushOutput();
  };
  if (const auto path = flags.One("socket")) {
    RETURN_IF_ERROR(RunSocket(plan, *path, &system, begun));
  } else {
    ASSIGN_OR_RETURN(const loadgen::LoadTotals totals,
                     flags.Has("brokers")    ? RunKafka(flags, plan, live, begun)
                     : flags.Has("data-dir") ? RunEmbedded(flags, plan, live, begun)
                                             : RunDiscarded(plan, begun));
    PrintJson(TotalsJson(totals) + "\n");
  }
  // A fault that never started would look like a fault that the rules failed to detect.
  if (planted_faults == plan.faults.size() || stop_requested) return OkStatus();
  return absl::FailedPreconditionError(Cat("--fault: ", plan.faults.size() - planted_faults, " of ",
                                           plan.faults.size(),
                                           " faults never started because their jobs ended "
                                           "earlier; specify an earlier from= or a longer "
                                           "--duration"));
}

std::vector<FlagSpec> OutputOptions() {
  return {
      {"data-dir", Kind::kOne, "DIR",
       "write to the embedded log in DIR, as of standalone --data-dir"},
      {"brokers", Kind::kOne, "HOSTS",
       "write to pitwall.telemetry in this Kafka cluster (host:port,…)"},
      {"socket", Kind::kOne, "PATH", "write ranks only, to the collector that listens on PATH"},
      {"discard", Kind::kSwitch, "", "print the plan and the totals without writing data"},
      {"partitions", Kind::kOne, "N", "partitions of the topic, if loadgen creates it", "4"},
  };
}

std::vector<FlagSpec> JobOptions() {
  return {
      {"seed", Kind::kOne, "N", "seed of all random values", "1"},
      {"name", Kind::kOne, "TEXT", "name jobs TEXT-0, TEXT-1, …", "load"},
      {"jobs", Kind::kOne, "N", "number of concurrent jobs", "1"},
      {"nodes", Kind::kOne, "N", "nodes per job", "1"},
      {"gpus", Kind::kOne, "N", "GPUs per node", "8"},
      {"cores", Kind::kOne, "N", "cores per node", "96"},
      {"ranks", Kind::kOne, "N",
       "ranks per job; 0: no ranks (default: one per GPU, or one per node without GPUs)"},
      {"step", Kind::kOne, "DURATION", "duration of a healthy step", "400ms"},
      {"steps", Kind::kOne, "N", "end a job after N steps (default: at the end of --duration)"},
      {"interval", Kind::kOne, "DURATION", "interval between two samples of a node", "500ms"},
      {"hz", Kind::kOne, "N", "samples per second, instead of --interval"},
      {"logged", Kind::kOne, "N", "values besides the loss that a rank logs each step, up to 100",
       "3"},
  };
}

std::vector<FlagSpec> TimeOptions() {
  return {
      {"start", Kind::kOne, "TIME",
       "start, as RFC 3339 or Unix seconds (default: such that the load ends now)"},
      {"duration", Kind::kOne, "DURATION", "simulated duration of the load", "10m"},
      {"live", Kind::kSwitch, "", "run in real time from now on"},
      {"churn", Kind::kOne, "DURATION",
       "end each job after half to one and a half times DURATION, and start another job"},
  };
}

std::vector<FlagSpec> FaultOptions() {
  return {
      {"fault", Kind::kMany, "SPEC", "plant a fault (see above)"},
      {"faults", Kind::kOne, "N", "plant N more faults of random kinds, each in its own job"},
      {"late", Kind::kOne, "SHARE",
       "share of batches that arrive late, with all later batches of their source"},
      {"late-by", Kind::kOne, "DURATION", "maximum delay of late batches", "3s"},
      {"drop", Kind::kOne, "SHARE", "share of batches that never arrive"},
      {"duplicate", Kind::kOne, "SHARE", "share of batches that arrive twice"},
      {"reorder", Kind::kOne, "SHARE",
       "share of batches that arrive after the next batch of their source"},
      {"ticks", Kind::kSwitch, "",
       "also write the clock ticks of the partitions' owner, for a log that only backtest reads"},
  };
}

int Run(const Flags& flags) {
  std::signal(SIGINT, RequestStop);
  std::signal(SIGTERM, RequestStop);
  return ExitCodeOf("loadgen", Generate(flags));
}

constexpr std::string_view kDetails =
    R"(The telemetry has the names, labels, and values of the real collector and client. The same seed and
options give the same bytes. Each planted fault is printed to stdout as a JSON line, with the issues of
pack:default that it must cause. The last line has the totals (docs/loadgen.md). Without --live the load
runs as fast as possible, in its own time from --start on. With --live or --socket it runs in real time.

--fault KIND[,KEY=VALUE…], where KIND with its keys is one of:
  straggler (rank, factor)       stall (share; rank: only this rank)   hang (rank)
  death (rank, signal, restart)  nan (rank)                            gpu (rank, restart)
  leak (rank, rate: share of the node's memory per hour)
Each kind also takes job (from 0), from=DURATION after the start of the job or from=step:N, and
for=DURATION. The seed chooses the keys that are not set.
)";

}  // namespace

Command LoadgenCommand() {
  return {
      .name = "loadgen",
      .summary =
          "Generate telemetry of simulated jobs with planted faults, for tests and benchmarks",
      .usage = {"--data-dir DIR | --brokers HOSTS | --socket PATH | --discard [options]"},
      .details = kDetails,
      .options = JoinOptions({OutputOptions(), JobOptions(), TimeOptions(), FaultOptions()}),
      .examples = {"pitwall loadgen --data-dir /tmp/load --jobs 10 --nodes 8 --faults 4 --seed 7",
                   "pitwall loadgen --discard --fault straggler,rank=3,factor=1.5",
                   "pitwall loadgen --socket /run/pitwall/collector.sock --duration 2m"},
      .run = Run};
}

}  // namespace pitwall
