#include "services/collector/clients/socket/listening_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/files/trusted_path.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kPauseNs = kNanosPerSecond;

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Removes a socket file that no process listens on.
Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return OkStatus();
  if (!S_ISSOCK(info.st_mode))
    return FailedPrecondition(Cat("socket ", path, ": a file that is not a socket already exists"));
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return ErrnoStatus(errno, "socket");
  const int connected =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int why = errno;
  close(probe);
  if (connected == 0 || why != ECONNREFUSED) {
    return FailedPrecondition(Cat("socket ", path, ": another process is already listening"));
  }
  unlink(path.c_str());
  return OkStatus();
}

}  // namespace

ListeningSocket::ListeningSocket(Address address, const Clock& clock, ReadinessSet* ready,
                                 uint64_t id)
    : address_(std::move(address)), clock_(clock), ready_(ready), id_(id) {}

Status ListeningSocket::Open() {
  Status status = Bind();
  if (!status.ok() && fd_ >= 0) {
    close(fd_);
    fd_ = -1;
  }
  return status;
}

Status ListeningSocket::Bind() {
  const std::string& path = address_.path;
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgument(Cat("socket ", path, ": the path must be at most ",
                               sizeof(sockaddr_un::sun_path) - 1, " bytes long (got ", path.size(),
                               ")"));
  }
  RETURN_IF_ERROR(Annotate(CheckSharedDirectory(DirectoryOf(path)), "collector.socket"));
  if (const Status above = CheckParents(DirectoryOf(path)); !above.ok()) {
    PITWALL_LOG(kWarning, "collector", "collector.socket: ", ToStd(above.message()));
  }
  const sockaddr_un address = AddressOf(path);
  RETURN_IF_ERROR(RemoveStale(path, address));
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return ErrnoStatus(errno, "socket");
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return ErrnoStatus(errno, Cat("socket ", path));
  // Clients cannot connect before listen().
  Status status;
  if (address_.group >= 0 &&
      lchown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(address_.group)) != 0) {
    status = ErrnoStatus(
        errno, Cat("collector.socket_group: socket ", path, ": cannot change the group to ",
                   address_.group, "; run the collector as root or as a member of it"));
  } else if (chmod(path.c_str(), address_.mode) != 0) {
    status = ErrnoStatus(errno, Cat("collector.socket_mode: socket ", path));
  } else if (listen(fd_, 128) != 0) {
    status = ErrnoStatus(errno, Cat("socket ", path));
  }
  if (!status.ok()) unlink(path.c_str());
  return status;
}

void ListeningSocket::Close() {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  listening_ = false;
  unlink(address_.path.c_str());
}

void ListeningSocket::Listen() {
  if (listening_) return;
  listening_ = true;
  ready_->Add(fd_, id_);
}

void ListeningSocket::Pause() {
  if (!listening_) return;
  listening_ = false;
  paused_since_ns_ = clock_.MonotonicNs();
  ready_->Remove(fd_);
}

// Checks the clock instead of relying on a timeout, because no wait times out while clients send
// continuously.
void ListeningSocket::ListenAfterPause() {
  if (!listening_ && clock_.MonotonicNs() - paused_since_ns_ >= kPauseNs) Listen();
}

int ListeningSocket::Accept() {
  while (true) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      complained_ = false;
      return fd;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return -1;
    if (!complained_)
      PITWALL_LOG(kError, "collector", ToStd(ErrnoStatus(errno, "accept").message()));
    complained_ = true;
    Pause();
    return -1;
  }
}

}  // namespace pitwall::collector
