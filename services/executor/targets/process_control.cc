#include "services/executor/targets/process_control.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/model/owner.h"

namespace pitwall::executor {
namespace {

struct Stat {
  char state = '?';
  uint64_t start_ticks = 0;
};

// Reads a file in /proc/<pid>. Returns NotFound if the process does not exist, and Unavailable if
// the file is unreadable and the state is therefore unknown.
StatusOr<std::string> ReadProcess(int64_t pid, std::string_view name) {
  const std::string path = Cat("/proc/", pid, "/", name);
  const auto failed = [&](int error_number) -> Status {
    if (error_number == ENOENT || error_number == ESRCH) return NotFound(Cat("no process ", pid));
    return Unavailable(Cat(path, ": ", std::strerror(error_number)));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(errno);
  std::string text;
  std::array<char, 4096> chunk;
  int error_number = 0;
  while (true) {
    const ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error_number = errno;
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<size_t>(n));
  }
  close(fd);
  if (error_number != 0) return failed(error_number);
  return text;
}

// Reads /proc/<pid>/stat. Returns NotFound if the process does not exist, and Unavailable under the
// same conditions as ReadProcess.
StatusOr<Stat> ReadStat(int64_t pid) {
  ASSIGN_OR_RETURN(const std::string text, ReadProcess(pid, "stat"));
  const size_t name_end = text.rfind(')');  // the process name may contain any character
  if (name_end == std::string::npos || name_end + 2 >= text.size())
    return Unavailable(Cat("/proc/", pid, "/stat: malformed"));
  const std::vector<std::string_view> fields =
      Split(Trim(std::string_view(text).substr(name_end + 2)), ' ');
  // Field 3 of the file has index 0 here. Field 22 is the start time.
  const std::optional<int64_t> start = fields.size() > 19 ? ParseInt(fields[19]) : std::nullopt;
  if (!start || *start < 0 || fields[0].empty())
    return Unavailable(Cat("/proc/", pid, "/stat: malformed"));
  return Stat{fields[0][0], static_cast<uint64_t>(*start)};
}

// Returns the owner of a process, which is either its pod or its effective user. Returns the same
// errors as ReadProcess.
StatusOr<std::string> ReadOwner(int64_t pid) {
  ASSIGN_OR_RETURN(const std::string status, ReadProcess(pid, "status"));
  ASSIGN_OR_RETURN(const std::string cgroup, ReadProcess(pid, "cgroup"));
  const size_t at = status.find("\nUid:");
  // The line contains the real user ID followed by the effective user ID.
  std::istringstream ids(at == std::string::npos ? "" : status.substr(at + 5));
  int64_t real = -1, effective = -1;
  if (!(ids >> real >> effective)) return Unavailable(Cat("/proc/", pid, "/status: malformed"));
  return OwnerOf(effective, PodOfCgroup(cgroup));
}

int PidfdOpen(pid_t pid) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
  (void)pid;
  errno = ENOSYS;
  return -1;
#endif
}

int PidfdSignal(int fd, int signal) {
#ifdef SYS_pidfd_send_signal
  return static_cast<int>(syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0));
#else
  (void)fd;
  (void)signal;
  errno = ENOSYS;
  return -1;
#endif
}

class LinuxProcessControl final : public ProcessControl {
 public:
  StatusOr<ProcessState> Look(const ProcessIdentity& process) override {
    const StatusOr<Stat> stat = ReadStat(process.pid);
    if (absl::IsNotFound(stat.status())) return ProcessState::kGone;
    if (!stat.ok()) return stat.status();
    if (stat->start_ticks != process.start_ticks) return ProcessState::kReplaced;
    // A zombie has exited and is waiting to be reaped by its parent.
    if (stat->state == 'Z' || stat->state == 'X') return ProcessState::kGone;
    if (process.owner.empty()) return ProcessState::kRunning;
    const StatusOr<std::string> owner = ReadOwner(process.pid);
    if (absl::IsNotFound(owner.status())) return ProcessState::kGone;
    if (!owner.ok()) return owner.status();
    if (*owner == process.owner) return ProcessState::kRunning;
    // The owner just read belongs to this process only if the process still exists.
    const StatusOr<Stat> still = ReadStat(process.pid);
    if (still.ok() && still->start_ticks == process.start_ticks) return ProcessState::kOtherOwner;
    if (still.ok() || absl::IsNotFound(still.status())) return ProcessState::kGone;
    return still.status();
  }

  Status Terminate(const ProcessIdentity& process) override {
    if (process.pid <= 1 || process.pid == getpid()) {
      return InvalidArgument(Cat("process ", process.pid, " must not be signaled"));
    }
    const auto pid = static_cast<pid_t>(process.pid);
    const int fd = PidfdOpen(pid);
    const int open_error = errno;
    if (fd < 0 && open_error == ESRCH) return NotFound(Cat("process ", process.pid, " is gone"));
    if (fd < 0 && open_error != ENOSYS && open_error != EINVAL) {
      return ErrnoStatus(open_error, Cat("process ", process.pid));
    }
    // The handle refers to the process that had the pid when the handle was opened. If the
    // requested process still exists, it has had this pid since it started, so it is that process.
    Status status = Check(process);
    if (status.ok() && (fd >= 0 ? PidfdSignal(fd, SIGTERM) : kill(pid, SIGTERM)) != 0) {
      status = errno == ESRCH ? NotFound(Cat("process ", process.pid, " is gone"))
                              : ErrnoStatus(errno, Cat("SIGTERM to process ", process.pid));
    }
    if (fd >= 0) close(fd);
    return status;
  }

 private:
  Status Check(const ProcessIdentity& process) {
    ASSIGN_OR_RETURN(const ProcessState state, Look(process));
    if (state == ProcessState::kRunning) return OkStatus();
    if (state == ProcessState::kOtherOwner) {
      return absl::PermissionDeniedError(
          ToAbsl(Cat("process ", process.pid, " no longer belongs to ", process.owner)));
    }
    return NotFound(
        Cat("process ", process.pid,
            state == ProcessState::kGone ? " is gone" : " was replaced by another process"));
  }
};

}  // namespace

StatusOr<ProcessIdentity> ParseProcessUid(std::string_view uid) {
  const auto bad = [&](std::string_view what) {
    return InvalidArgument(
        Cat("process uid ", Quote(uid), ": ", what, "; must be <pid>@<node>/<start>"));
  };
  const size_t at = uid.find('@');
  const size_t slash = uid.rfind('/');
  if (at == std::string_view::npos || slash == std::string_view::npos || slash < at)
    return bad("malformed");
  const std::optional<int64_t> pid = ParseInt(uid.substr(0, at));
  const std::optional<int64_t> start = ParseInt(uid.substr(slash + 1));
  // 2^22 is the kernel's maximum pid.
  if (!pid || *pid < 1 || *pid > (1 << 22)) return bad("invalid pid");
  if (!start || *start < 0) return bad("invalid start");
  ProcessIdentity out;
  out.pid = *pid;
  out.node = std::string(uid.substr(at + 1, slash - at - 1));
  out.start_ticks = static_cast<uint64_t>(*start);
  if (out.node.empty()) return bad("node is missing");
  return out;
}

StatusOr<std::vector<ProcessIdentity>> ParseProcessUids(std::string_view uid) {
  constexpr std::string_view kMore = "+more";
  if (uid.ends_with(kMore)) {
    return InvalidArgument(
        Cat("process uid ", Quote(uid.substr(0, 100)), ": lists only some of the job's processes"));
  }
  std::vector<std::pair<int64_t, int64_t>> others;  // pid and start time, last process first
  std::string_view first = uid;
  while (true) {
    const size_t plus = first.rfind('+');
    if (plus == std::string_view::npos) break;
    const std::string_view other = first.substr(plus + 1);
    const size_t slash = other.find('/');
    if (slash == std::string_view::npos) break;  // the "+" is part of the node name
    const std::optional<int64_t> pid = ParseInt(other.substr(0, slash));
    const std::optional<int64_t> start = ParseInt(other.substr(slash + 1));
    if (!pid || !start) break;
    others.emplace_back(*pid, *start);
    first = first.substr(0, plus);
  }
  ASSIGN_OR_RETURN(ProcessIdentity process, ParseProcessUid(first));
  std::vector<ProcessIdentity> out{process};
  std::reverse(others.begin(), others.end());
  for (const auto& [pid, start] : others) {
    ASSIGN_OR_RETURN(process, ParseProcessUid(Cat(pid, "@", process.node, "/", start)));
    out.push_back(process);
  }
  return out;
}

std::string MakeProcessUid(const ProcessIdentity& identity) {
  return Cat(identity.pid, "@", identity.node, "/", identity.start_ticks);
}

std::unique_ptr<ProcessControl> MakeLinuxProcessControl() {
  return std::make_unique<LinuxProcessControl>();
}

StatusOr<uint64_t> ProcessStartTicks(int64_t pid) {
  ASSIGN_OR_RETURN(const Stat stat, ReadStat(pid));
  return stat.start_ticks;
}

}  // namespace pitwall::executor
