#include "services/self_metrics/memory_limit.h"

#include <sys/resource.h>

#include <string_view>
#include <vector>

#include "services/base/system/files.h"
#include "services/base/text/strings.h"

namespace pitwall::self_metrics {
namespace {

std::string Read(const std::string& path) {
  auto text = ReadFile(path, 1 << 20);
  return text.ok() ? *std::move(text) : std::string();
}

void Lower(MemoryLimit* limit, std::string_view number, size_t unit, std::string source) {
  const auto value = ParseDouble(number);  // "max" means no limit
  // cgroup v1 represents "no limit" as a number near 2^63.
  if (!value.has_value() || *value <= 0 || *value > 1e18) return;
  const auto bytes = static_cast<size_t>(*value) * unit;
  if (limit->bytes == 0 || bytes < limit->bytes) *limit = {bytes, std::move(source)};
}

}  // namespace

MemoryLimit FindMemoryLimit(const std::string& root) {
  MemoryLimit limit;
  const std::string memory = Read(root + "/proc/meminfo");
  if (const size_t at = memory.find("MemTotal:"); at != std::string::npos) {
    const std::string_view line =
        std::string_view(memory).substr(at + 9, memory.find('\n', at) - at - 9);
    const std::string_view number = Trim(line);
    Lower(&limit, number.substr(0, number.find(' ')), 1024, "RAM");
  }
  const std::string groups = Read(root + "/proc/self/cgroup");
  for (const std::string_view line : Split(groups, '\n')) {
    // The format is "0::/path" for cgroup v2 and "4:memory:/path" for v1.
    const bool v2 = StartsWith(line, "0::/");
    const size_t v1 = line.find(":memory:/");
    if (!v2 && v1 == std::string_view::npos) continue;
    const std::string base = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string_view file = v2 ? "/memory.max" : "/memory.limit_in_bytes";
    std::string path(line.substr(v2 ? 3 : v1 + 8));
    for (;;) {
      while (!path.empty() && path.back() == '/') path.pop_back();
      const std::string limit_file = Cat(base, path, file);
      Lower(&limit, Trim(Read(root + limit_file)), 1, Cat("cgroup ", limit_file));
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  rlimit space{};
  if (root.empty() && getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    Lower(&limit, Cat(space.rlim_cur), 1, "ulimit -v");
  return limit;
}

}  // namespace pitwall::self_metrics
