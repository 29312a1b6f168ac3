// Reader of /proc/<pid>/stat, statm, and schedstat for the local processes of a job.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/readers/series_reader.h"

namespace pitwall::collector {
namespace {

// Returns the value of process_state, which describes the state of the main thread.
double StateOf(std::string_view letter) {
  if (letter == "R") return 1;
  if (letter == "S") return 2;
  if (letter == "D") return 3;
  if (letter == "T" || letter == "t") return 4;
  return 0;
}

struct Process {
  JobProcess who;
  ProcFile stat;
  ProcFile statm;
  ProcFile schedstat;
  bool alive = false;
  bool gone = false;
  double cpu_seconds = 0;
  double state = 0;
  double resident_bytes = 0;
  std::optional<double> wait_seconds;  // nullopt if the kernel does not provide it
};

class ProcessReader final : public SeriesReader {
 public:
  ProcessReader(const ReaderContext& context, std::vector<JobProcess> processes)
      : context_(context),
        jiffies_per_second_(static_cast<double>(sysconf(_SC_CLK_TCK))),
        page_bytes_(static_cast<double>(sysconf(_SC_PAGESIZE))) {
    // Only the process with the highest PID, normally the newest, is used for each rank.
    std::sort(processes.begin(), processes.end());
    for (size_t i = 0; i < processes.size(); ++i) {
      if (i + 1 < processes.size() && processes[i + 1].rank == processes[i].rank) continue;
      const std::string dir = UnderRoot(context.root, Cat("proc/", processes[i].pid));
      processes_.push_back({processes[i], ProcFile(dir + "/stat"), ProcFile(dir + "/statm"),
                            ProcFile(dir + "/schedstat")});
    }
  }

  bool Read() override {
    bool changed = false;
    for (Process& process : processes_) {
      // A process that has exited does not come back, but an unrelated process may reuse its PID.
      if (process.gone) continue;
      const bool alive = ReadOne(process);
      const bool waited = process.wait_seconds.has_value();
      process.wait_seconds = alive ? ReadWait(process) : std::nullopt;
      process.gone = process.alive && !alive;
      changed |= alive != process.alive || waited != process.wait_seconds.has_value();
      process.alive = alive;
    }
    return changed;
  }

  void Describe(std::vector<SeriesDescriptor>* out) const override {
    for (const Process& process : processes_) {
      if (!process.alive) continue;
      const std::string rank = Cat(process.who.rank);
      out->push_back(NodeSeries(context_, SeriesKind::kCounter, "process_cpu_seconds_total",
                                {{"rank", rank}}));
      out->push_back(
          NodeSeries(context_, SeriesKind::kGauge, "process_memory_usage_bytes", {{"rank", rank}}));
      out->push_back(NodeSeries(context_, SeriesKind::kGauge, "process_state",
                                {{"rank", rank}, {"pid", Cat(process.who.pid)}}));
      if (process.wait_seconds.has_value()) {
        out->push_back(NodeSeries(context_, SeriesKind::kCounter, "process_cpu_wait_seconds_total",
                                  {{"rank", rank}}));
      }
    }
  }

  double* Fill(double* row) const override {
    for (const Process& process : processes_) {
      if (!process.alive) continue;
      *row++ = process.cpu_seconds;
      *row++ = process.resident_bytes;
      *row++ = process.state;
      if (process.wait_seconds.has_value()) *row++ = *process.wait_seconds;
    }
    return row;
  }

 private:
  bool ReadOne(Process& process) {
    const auto stat = process.stat.Read();
    if (!stat.has_value()) return false;
    // The name may contain spaces and parentheses, so the fields start after the last parenthesis.
    const size_t bracket = stat->rfind(')');
    if (bracket == std::string_view::npos) return false;
    TextScan fields(stat->substr(bracket + 1));
    process.state = StateOf(fields.Word());
    for (int field = 4; field < 14; ++field) fields.Word();
    const auto user = fields.Number();
    const auto system = fields.Number();
    if (!user.has_value() || !system.has_value()) return false;
    process.cpu_seconds = static_cast<double>(*user + *system) / jiffies_per_second_;
    const auto statm = process.statm.Read();
    if (!statm.has_value()) return false;
    TextScan pages(*statm);
    pages.Word();
    const auto resident = pages.Number();
    if (!resident.has_value()) return false;
    process.resident_bytes = static_cast<double>(*resident) * page_bytes_;
    return true;
  }

  // Returns the seconds for which the main thread was runnable but waiting for a CPU.
  static std::optional<double> ReadWait(Process& process) {
    const auto schedstat = process.schedstat.Read();
    if (!schedstat.has_value()) return std::nullopt;
    TextScan fields(*schedstat);
    fields.Word();
    const auto wait_ns = fields.Number();
    if (!wait_ns.has_value()) return std::nullopt;
    return static_cast<double>(*wait_ns) * 1e-9;
  }

  const ReaderContext context_;
  const double jiffies_per_second_;
  const double page_bytes_;
  std::vector<Process> processes_;
};

}  // namespace

std::unique_ptr<SeriesReader> NewProcessReader(const ReaderContext& context,
                                               std::vector<JobProcess> processes) {
  return std::make_unique<ProcessReader>(context, std::move(processes));
}

}  // namespace pitwall::collector
