#include "services/collector/readers/job_cgroup.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"

namespace pitwall::collector {

std::string CgroupOf(std::string_view root, const std::vector<JobProcess>& processes) {
  std::string common;
  bool first = true;
  for (const JobProcess& process : processes) {
    ProcFile file(UnderRoot(root, Cat("proc/", process.pid, "/cgroup")));
    const auto text = file.Read();
    if (!text.has_value()) continue;
    TextScan lines(*text);
    std::string_view line;
    std::string path;
    while (lines.Line(&line)) {
      if (StartsWith(line, "0::/")) path = std::string(line.substr(3));
    }
    // A reader in another cgroup namespace sees a path like "/../x".
    if (path.empty() || path.find("..") != std::string::npos) return "";
    if (first) {
      common = path;
      first = false;
      continue;
    }
    const size_t same = static_cast<size_t>(
        std::mismatch(common.begin(), common.end(), path.begin(), path.end()).first -
        common.begin());
    const bool whole = (same == common.size() || common[same] == '/') &&
                       (same == path.size() || path[same] == '/');
    common.resize(whole ? same : common.rfind('/', same == 0 ? 0 : same - 1));
  }
  while (!common.empty() && common.back() == '/') common.pop_back();
  return common;
}

}  // namespace pitwall::collector
