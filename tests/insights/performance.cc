// insights_performance SHAPE PART [FOLDER [VIEW]]: measures the cost of the history for a load that
// a separate process generates. SHAPE: day (24 h of 8 nodes with 8 GPUs and 96 cores at 500 ms),
// ranks (1,000 ranks of 20,000 steps), small (1,000 jobs of 10 minutes), wide (100 jobs with 17,000
// series each), or broad (the same, but PART shortens the duration and keeps all 100 jobs). PART:
// fraction of the load; 1 is all of it. FOLDER: location of the history. If it exists, it is
// queried without generating a load; the default is a temporary folder that is removed at the end.
// VIEW: only views whose names contain this text. If VIEW starts with "/", it contains request
// paths separated by spaces, in which {job} is the first job's ID, and {first} and {last} are its
// times in seconds. Prints a table with the CRC of each response, so that the responses of two
// versions can be compared. The exit code is 1 if a request fails, memory exceeds its limit, or
// disk usage exceeds two megabytes per million samples.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/http/router.h"
#include "services/base/terminal.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/api/api_routes.h"
#include "services/history/ingest/history_service.h"
#include "services/history/promapi/prom_routes.h"
#include "services/loadgen/load_plan.h"
#include "tests/insights/load/load_process.h"
#include "tests/insights/pipe_log.h"
#include "tests/insights/segment_sizes.h"

namespace pitwall::history {
namespace {

constexpr int64_t kBegin = 1'767'225'600 * kNanosPerSecond;
constexpr double kGoalMegabytes = 1.0;    // disk usage per million samples, including spans
constexpr double kMostMegabytes = 2.0;    // limit above which the test fails
constexpr double kGoalGibibytes = 2.0;    // limit on memory
constexpr double kGoalMilliseconds = 50;  // limit per response

double CpuSeconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PeakGibibytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

StatusOr<loadgen::LoadPlan> PlanOf(std::string_view shape, double part) {
  loadgen::LoadPlan plan;
  plan.start_ns = kBegin;
  const auto seconds = [&](double s) {
    return static_cast<int64_t>(std::max(s * part, 60.0)) * kNanosPerSecond;
  };
  if (shape == "day") {
    plan.nodes = 8;
    plan.step_ns = 2 * kNanosPerSecond;
    plan.duration_ns = seconds(86'400);
  } else if (shape == "ranks") {
    plan.nodes = 125;
    plan.cores = 1;
    plan.interval_ns = 10 * kNanosPerSecond;
    plan.step_ns = kNanosPerSecond;
    plan.duration_ns = seconds(20'000 * 1.08);
    plan.steps = 20'000;
  } else if (shape == "small") {
    plan.jobs = static_cast<int64_t>(std::max(1000 * part, 20.0));
    plan.gpus = 1;
    plan.cores = 4;
    plan.duration_ns = 600 * kNanosPerSecond;
  } else if (shape == "wide" || shape == "broad") {
    plan.jobs = shape == "wide" ? static_cast<int64_t>(std::max(100 * part, 2.0)) : 100;
    plan.nodes = 8;
    plan.step_ns = 2 * kNanosPerSecond;
    plan.duration_ns = shape == "wide" ? 720 * kNanosPerSecond : seconds(720);
  } else {
    return InvalidArgument(
        Cat("shape: unknown (", Quote(shape), "); day, ranks, small, wide, or broad"));
  }
  RETURN_IF_ERROR(loadgen::CheckPlan(plan));
  RETURN_IF_ERROR(loadgen::CompleteFaults(0, &plan));
  return plan;
}

struct View {
  std::string name;
  std::string path;
};

// Returns the requests that the page, Grafana, and the command line send.
std::vector<View> ViewsOf(const JobOverview& job) {
  const std::string of = Cat("?job=", job.id);
  const std::string api(kApiPrefix);
  const int64_t middle = job.first_ns + (job.last_ns - job.first_ns) / 2;
  const int64_t hour = 3600 * kNanosPerSecond;
  const auto range = [](int64_t from, int64_t to) { return Cat("&from=", from, "&to=", to); };
  const std::string last_hour = range(std::max(job.first_ns, job.last_ns - hour), job.last_ns);
  const std::string cores =
      Cat("&match=system_cpu_utilization_ratio%7Bnode=%22", job.id, "-n0%22,mode=%22user%22%7D");
  const auto query = [&](std::string_view text, std::string_view rest) {
    return Cat("/api/v1/", rest, "&query=", text);
  };
  const auto s = [](int64_t ns) { return Cat(ns / kNanosPerSecond); };
  const auto ranks = std::count_if(job.sources.begin(), job.sources.end(),
                                   [](const auto& one) { return one.second.rank >= 0; });
  // Width that the page requests for a 250,000-cell canvas.
  const std::string of_page =
      Cat("&width=", std::clamp<int64_t>(250'000 / std::max<int64_t>(1, ranks), 60, 500));
  return {
      {"job list", Cat(api, "/jobs?limit=100")},
      {"job", Cat(api, "/job", of)},
      {"chart of all GPUs, whole job",
       Cat(api, "/chart", of, "&match=hw_gpu_utilization_ratio&width=1000")},
      {"chart of a GPU's power, an hour",
       Cat(api, "/chart", of, "&match=hw_power_watts%7Bgpu=%220%22,node=%22", job.id,
           "-n0%22%7D&width=1000", last_hour)},
      {"chart of the loss by step",
       Cat(api, "/chart", of, "&match=train_loss%7Brank=%220%22%7D&axis=step&width=1000")},
      {"heat map of a node's cores, an hour",
       Cat(api, "/heatmap", of, cores, "&width=600", last_hour)},
      {"heat map of GPUs, whole job",
       Cat(api, "/heatmap", of, "&match=hw_gpu_utilization_ratio&width=600")},
      {"ranks x steps of the page, own time",
       Cat(api, "/heatmap/steps", of, of_page, "&basis=own")},
      {"ranks x steps of the page, durations", Cat(api, "/heatmap/steps", of, of_page)},
      {"ranks x steps", Cat(api, "/heatmap/steps", of, "&width=800")},
      {"ranks x steps, 200 steps",
       Cat(api, "/heatmap/steps", of, "&width=800&from_step=100&to_step=300")},
      {"spans of 10 s", Cat(api, "/spans", of, range(middle, middle + 10 * kNanosPerSecond))},
      {"last 30 steps by phase", Cat(api, "/phases", of)},
      {"operators and phases, whole job", Cat(api, "/operators", of, "&kind=operator&kind=phase")},
      {"resources", Cat(api, "/resources", of)},
      {"comparison, 10 minutes",
       Cat(api, "/differs", of, "&match=hw_power_watts", range(middle, middle + hour / 6))},
      {"list of series", Cat(api, "/series", of, "&match=hw_power_watts")},
      {"issues", Cat(api, "/issues", of)},
      {"PromQL, an instant",
       query(Cat("avg(hw_gpu_utilization_ratio%7Bpitwall_job=%22", job.id, "%22%7D)"),
             Cat("query?time=", s(middle)))},
      {"PromQL, an hour at 15 s",
       query(Cat("avg%20by%20(node)(hw_gpu_utilization_ratio%7Bpitwall_job=%22", job.id, "%22%7D)"),
             Cat("query_range?start=", s(std::max(job.first_ns, middle - hour / 2)),
                 "&end=", s(std::min(job.last_ns, middle + hour / 2)), "&step=15"))},
  };
}

// Parses paths that are separated by spaces.
std::vector<View> ViewsOfPaths(std::string_view paths, const JobOverview& job) {
  std::vector<View> out;
  for (const std::string_view one : Split(paths, ' ')) {
    std::string path(one);
    for (const auto& [mark, text] : {std::pair<std::string_view, std::string>("{job}", job.id),
                                     {"{first}", Cat(job.first_ns / kNanosPerSecond)},
                                     {"{last}", Cat(job.last_ns / kNanosPerSecond)}}) {
      for (size_t at = path.find(mark); at != std::string::npos; at = path.find(mark))
        path.replace(at, mark.size(), text);
    }
    out.push_back({path, path});
  }
  return out;
}

class Measurement {
 public:
  Measurement(loadgen::LoadPlan plan, std::string dir, std::string view, int calls)
      : plan_(std::move(plan)), dir_(std::move(dir)), view_(std::move(view)), calls_(calls) {}
  // Measures the queries. If `load` is true, generates and stores the load first.
  Status Run(bool load);
  bool failed() const { return failed_; }

 private:
  Status Open();
  Status Ingest();
  Status RunQueries();
  void Line(std::string_view what, double value, std::string_view unit, double goal, bool above) {
    const bool missed = goal > 0 && (above ? value < goal : value > goal);
    Print(Cat("  ", what, ": ", FormatDouble(std::round(value * 1000) / 1000), " ", unit,
              goal > 0 ? Cat(" (goal ", FormatDouble(goal), missed ? ", MISSED)" : ")") : "",
              "\n"));
  }

  const loadgen::LoadPlan plan_;
  const std::string dir_;
  const std::string view_;  // "" selects all views; if it starts with "/", request paths
  const int calls_;         // number of calls per view, within a second
  clock::SystemClock clock_;
  PipeLog log_{&clock_};
  std::unique_ptr<HistoryService> keep_;
  bool failed_ = false;
};

Status Measurement::Open() {
  HistoryOptions options;
  options.dir = dir_;
  options.max_bytes = int64_t{1} << 40;
  options.retention_ns = kMaxPosition;
  keep_ = nullptr;  // Releases the folder's lock.
  ASSIGN_OR_RETURN(keep_, HistoryService::Open(&clock_, &log_, options));
  return OkStatus();
}

Status Measurement::Ingest() {
  ASSIGN_OR_RETURN(const auto load, LoadProcess::Start(plan_));
  RETURN_IF_ERROR(Open());
  RETURN_IF_ERROR(keep_->Start());
  const int64_t began = clock_.MonotonicNs();
  const double before = CpuSeconds(RUSAGE_THREAD);
  ASSIGN_OR_RETURN(const RecordWriter::Totals totals, load->Forward(&log_));
  const double forwarding = CpuSeconds(RUSAGE_THREAD) - before;
  const auto pause = clock_.NewWakeup();
  // True once all records have been read and all jobs have ended.
  const auto done = [&] {
    if (keep_->counters().records < totals.load.records) return false;
    for (const JobLifePtr& job : keep_->history().Jobs()) {
      if (job->ended_ns == 0) return false;
    }
    return true;
  };
  while (!done()) {
    RETURN_IF_ERROR(keep_->Health());
    pause->Wait(50 * kNanosPerMilli);
  }
  keep_->Stop();  // Seals the remaining data.
  RETURN_IF_ERROR(keep_->Health());
  const double peak = PeakGibibytes();
  const double cpu = CpuSeconds(RUSAGE_SELF) - forwarding;
  const double wall = static_cast<double>(clock_.MonotonicNs() - began) / 1e9;
  const auto samples = static_cast<double>(keep_->counters().samples);
  Print(Cat("samples ", keep_->counters().samples, ", spans ", totals.load.spans, ", jobs ",
            totals.jobs, ", segments written ", keep_->counters().sealed.load(), "\n"));
  const double megabytes = static_cast<double>(keep_->disk_bytes()) / samples;
  Line("disk per million samples", megabytes, "MB", kGoalMegabytes, false);
  Line("ingest and sealing per core", samples / cpu / 1e6, "M samples/s", 3, true);
  Line("wall time, including load generation", wall, "s", 0, false);
  Line("peak memory", peak, "GiB", kGoalGibibytes, false);
  ASSIGN_OR_RETURN(const auto sizes, SizesOf(dir_));
  for (const auto& [what, bytes] : sizes) {
    const double share = static_cast<double>(bytes) / samples;
    if (share >= 0.005) Line(Cat("  of these, ", what), share, "MB", 0, false);
  }
  failed_ |= megabytes > kMostMegabytes || peak > kGoalGibibytes;
  return OkStatus();
}

// A handler runs in one thread, and its data is in the page cache. Its CPU time therefore equals
// its latency on a machine with an idle core, and can also be measured on a busy machine. Each view
// starts with a newly opened history, so that its first response starts without open segments or
// decoded data.
Status Measurement::RunQueries() {
  Print("  responses: cold, median, 99% (ms of a core); CRC\n");
  const JobLifePtr job = keep_->history().Jobs()[0];
  const bool paths = StartsWith(view_, "/");
  for (const View& view : paths ? ViewsOfPaths(view_, *job) : ViewsOf(*job)) {
    if (!paths && view.name.find(view_) == std::string::npos) continue;
    RETURN_IF_ERROR(Open());
    std::vector<http::HttpRoute> routes = Routes({.history = &keep_->history(), .clock = &clock_});
    for (http::HttpRoute& route : promapi::PromRoutes(&keep_->history(), &clock_, {}, {}))
      routes.push_back(std::move(route));
    const auto router = http::Router::Make(std::move(routes));
    http::HttpRequest request;
    request.method = "GET";
    http::ParseTarget(view.path, &request);
    const auto match = router->Find("GET", request.path);
    std::vector<double> took;
    std::string refused;
    uint32_t crc = 0;
    double total = 0;
    for (int i = 0; i <= calls_ && total < 2000; ++i) {
      const int64_t began = clock::ThreadCpuNs();
      const http::HttpResponse response = match.route->handler(request);
      took.push_back(static_cast<double>(clock::ThreadCpuNs() - began) / 1e6);
      total += took.back();
      crc = Crc32c(response.body);
      if (response.status != 200) {
        refused = response.body;
        failed_ |= response.status != 422;  // Reaching a documented limit is not a failure.
        break;
      }
    }
    const double cold = took[0];
    if (took.size() > 1) took.erase(took.begin());
    std::sort(took.begin(), took.end());
    const double worst = took[std::min(took.size() - 1, took.size() * 99 / 100)];
    const auto ms = [](double v) { return FormatDouble(std::round(v * 10) / 10); };
    Print(Cat("  ", view.name, ": ",
              refused.empty()
                  ? Cat(ms(cold), ", ", ms(took[took.size() / 2]), ", ", ms(worst),
                        std::max(cold, worst) > kGoalMilliseconds ? " MISSED; " : "; ", crc)
                  : Cat("REFUSED ", refused),
              "\n"));
  }
  return OkStatus();
}

Status Measurement::Run(bool load) {
  RETURN_IF_ERROR(load ? Ingest() : Open());
  RETURN_IF_ERROR(RunQueries());
  Line("peak memory, with queries", PeakGibibytes(), "GiB", 0, false);
  return OkStatus();
}

int Main(std::string_view shape, double part, const std::string& kept, const std::string& view) {
  const auto plan = PlanOf(shape, part);
  const std::string dir =
      kept.empty()
          ? (std::filesystem::temp_directory_path() / Cat("pitwall-performance-", shape)).string()
          : kept;
  if (kept.empty()) std::filesystem::remove_all(dir);
  Status status = plan.status();
  bool failed = false;
  if (status.ok()) {
    Print(Cat(shape, " x ", FormatDouble(part), "\n"));
    Measurement measurement(*plan, dir, view, part < 0.01 ? 2 : 100);
    status = measurement.Run(!std::filesystem::exists(dir));
    failed = measurement.failed();
  }
  if (kept.empty()) std::filesystem::remove_all(dir);
  if (!status.ok()) PrintError(Cat(ToStd(status.message()), "\n"));
  return !status.ok() || failed ? 1 : 0;
}

}  // namespace
}  // namespace pitwall::history

int main(int argc, char** argv) {
  const auto part = argc >= 3 && argc <= 5 ? pitwall::ParseDouble(argv[2]) : std::nullopt;
  if (!part.has_value() || !(*part > 0 && *part <= 1)) {
    pitwall::PrintError(
        "usage: insights_performance day|ranks|small|wide|broad PART [FOLDER [VIEW]], with 0 < "
        "PART <= "
        "1\n");
    return 2;
  }
  return pitwall::history::Main(argv[1], *part, argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
}
