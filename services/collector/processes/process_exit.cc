#include "services/collector/processes/process_exit.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pitwall::collector {
namespace {

// Copy of the struct in <linux/pidfd.h> from Linux 6.15, because older headers lack it. The kernel
// accepts any size that is at least the size of this first version.
struct PidfdInfo {
  uint64_t mask = 0;
  uint64_t cgroup_id = 0;
  uint32_t ids[11] = {};
  int32_t exit_status = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr uint64_t kInfoExit = 1 << 3;

}  // namespace

std::shared_ptr<const ProcessExit> ProcessExit::Of(int64_t pid) {
#ifdef SYS_pidfd_open
  const long fd = pid > 0 ? syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0) : -1;
  if (fd >= 0) return std::make_shared<const ProcessExit>(static_cast<int>(fd));
#endif
  return nullptr;
}

ProcessExit::~ProcessExit() { close(fd_); }

bool ProcessExit::Ended() const {
  pollfd one = {.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) > 0 && (one.revents & POLLIN) != 0;
}

std::optional<int> ProcessExit::Status() const {
  PidfdInfo info;
  info.mask = kInfoExit;
  if (ioctl(fd_, kGetInfo, &info) != 0 || (info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_status;
}

}  // namespace pitwall::collector
