#include "services/self_metrics/process.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "services/base/text/strings.h"

namespace pitwall::self_metrics {
namespace {

struct ProcessStat {
  double cpu_seconds = 0;
  double start_since_boot = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

std::string ReadFile(const char* path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Returns the fields of /proc/self/stat after the last ')', because the command name may contain
// any character.
std::optional<ProcessStat> ReadStat() {
  const std::string text = ReadFile("/proc/self/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  const std::vector<std::string_view> fields =
      Split(Trim(std::string_view(text).substr(name_end + 2)), ' ');
  if (fields.size() < 22) return std::nullopt;
  const auto number = [&](size_t field) {  // field numbers of proc(5), starting at 3
    return ParseDouble(fields[field - 3]).value_or(0);
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return ProcessStat{.cpu_seconds = (number(14) + number(15)) / ticks,
                     .start_since_boot = number(22) / ticks,
                     .virtual_bytes = number(23),
                     .resident_bytes = number(24) * static_cast<double>(sysconf(_SC_PAGESIZE))};
}

std::optional<double> BootTime() {
  const std::string text = ReadFile("/proc/stat");
  const size_t at = text.find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + 7;
  return ParseDouble(std::string_view(text).substr(begin, text.find('\n', begin) - begin));
}

std::optional<double> OpenFiles() {
  DIR* const dir = opendir("/proc/self/fd");
  if (dir == nullptr) return std::nullopt;
  double count = -1;  // excludes the descriptor of the directory being listed
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(dir);
  return count;
}

double Limit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return 0;
  // client_golang also uses this value for "no limit".
  return limit.rlim_cur == RLIM_INFINITY ? 18446744073709551615.0
                                         : static_cast<double>(limit.rlim_cur);
}

SampleLister FromStat(double ProcessStat::*field) {
  return [field](std::vector<Sample>* out) {
    if (const std::optional<ProcessStat> stat = ReadStat()) out->push_back({{}, (*stat).*field});
  };
}

}  // namespace

void AddProcessMetrics(Probe* probe) {
  probe->ListCounters("process_cpu_seconds_total",
                      "Total user and system CPU time spent in seconds.",
                      FromStat(&ProcessStat::cpu_seconds));
  probe->ListGauges("process_virtual_memory_bytes", "Virtual memory size in bytes.",
                    FromStat(&ProcessStat::virtual_bytes));
  probe->ListGauges("process_resident_memory_bytes", "Resident memory size in bytes.",
                    FromStat(&ProcessStat::resident_bytes));
  probe->ListGauges("process_start_time_seconds",
                    "Start time of the process since unix epoch in seconds.",
                    [](std::vector<Sample>* out) {
                      const std::optional<ProcessStat> stat = ReadStat();
                      const std::optional<double> boot = BootTime();
                      if (stat && boot) out->push_back({{}, *boot + stat->start_since_boot});
                    });
  probe->ListGauges("process_open_fds", "Number of open file descriptors.",
                    [](std::vector<Sample>* out) {
                      if (const std::optional<double> files = OpenFiles())
                        out->push_back({{}, *files});
                    });
  probe->AddGauge("process_max_fds", "Maximum number of open file descriptors.",
                  [] { return Limit(RLIMIT_NOFILE); });
  probe->AddGauge("process_virtual_memory_max_bytes",
                  "Maximum amount of virtual memory available in bytes.",
                  [] { return Limit(RLIMIT_AS); });
}

void AddBuildInfo(std::string_view version, std::string_view service, Probe* probe) {
  probe->AddGauge("pitwall_build_info", "Always 1; the labels are the version and the service.",
                  [] { return 1; }, {{"version", version}, {"service", service}});
}

}  // namespace pitwall::self_metrics
