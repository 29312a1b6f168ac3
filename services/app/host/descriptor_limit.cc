#include "services/app/host/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

// Minimum number of descriptors. Sufficient for the log, the catalog, the listeners, and the
// threads of `pitwall standalone`, plus a few connections.
constexpr rlim_t kMinimum = 256;
// Upper bound for the raised limit. Some libraries need time and memory for every possible
// descriptor.
constexpr rlim_t kEnough = 65'536;

}  // namespace

Status RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "limit on open files");
  const rlim_t wanted = std::min(limit.rlim_max, kEnough);
  if (limit.rlim_cur < wanted) {
    rlimit raised = limit;
    raised.rlim_cur = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= kMinimum) return OkStatus();
  return ResourceExhausted(Cat("open files: limit must be at least ", kMinimum, " (got ",
                               limit.rlim_cur,
                               "); raise it with `ulimit -n` or systemd's LimitNOFILE"));
}

}  // namespace pitwall
