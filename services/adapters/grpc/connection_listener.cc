#include "services/adapters/grpc/connection_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "services/base/listen_address.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::grpc_adapter {
namespace {

constexpr int kPauseMs = 50;  // between attempts while accept fails

int OpenSpare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Socket address, either IPv4 or IPv6.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
SocketAddress ToSocketAddress(const ListenAddress& from) {
  SocketAddress out;
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (::inet_pton(AF_INET6, from.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(from.port);
    out.size = sizeof(*v6);
    return out;
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  if (::inet_pton(AF_INET, from.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(from.port);
    out.size = sizeof(*v4);
  }
  return out;
}

}  // namespace

ConnectionListener::ConnectionListener() {
  worker_.OnStop([this] {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_, &one, sizeof(one));
  });
}

StatusOr<std::unique_ptr<ConnectionListener>> ConnectionListener::Open(const std::string& listen) {
  std::unique_ptr<ConnectionListener> out(new ConnectionListener());
  RETURN_IF_ERROR(out->Bind(listen));
  out->stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  out->spare_ = OpenSpare();
  if (out->stop_ < 0 || out->spare_ < 0) return ErrnoStatus(errno, Cat("gRPC on ", listen));
  return out;
}

Status ConnectionListener::Bind(const std::string& listen) {
  ASSIGN_OR_RETURN(const ListenAddress wanted, ParseListenAddress(listen));
  SocketAddress address = ToSocketAddress(wanted);
  if (address.size == 0) return InvalidArgument(Cat(listen, ": not an IP address"));
  listener_ = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return ErrnoStatus(errno, Cat("gRPC on ", listen));
  const int on = 1, off = 0;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.storage.ss_family == AF_INET6)
    ::setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  auto* bound = reinterpret_cast<sockaddr*>(&address.storage);
  if (::bind(listener_, bound, address.size) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
      ::getsockname(listener_, bound, &address.size) != 0) {
    return Unavailable(ToStd(ErrnoStatus(errno, Cat("cannot serve gRPC on ", listen)).message()));
  }
  port_ = ntohs(address.storage.ss_family == AF_INET6
                    ? reinterpret_cast<const sockaddr_in6*>(bound)->sin6_port
                    : reinterpret_cast<const sockaddr_in*>(bound)->sin_port);
  return OkStatus();
}

ConnectionListener::~ConnectionListener() {
  Stop();
  for (const int fd : {listener_, stop_, spare_}) {
    if (fd >= 0) ::close(fd);
  }
}

void ConnectionListener::Start(std::unique_ptr<Acceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  worker_.Start([this] { Loop(); });
}

void ConnectionListener::Stop() {
  if (!worker_.started()) return;
  worker_.Stop();
  // Refuses new connections.
  ::close(std::exchange(listener_, -1));
}

void ConnectionListener::Loop() {
  while (true) {
    pollfd both[] = {{.fd = stop_, .events = POLLIN, .revents = 0},
                     {.fd = listener_, .events = POLLIN, .revents = 0}};
    if (::poll(both, 2, -1) < 0 && errno != EINTR) {  // out of memory, treated like a failed accept
      pollfd stop = both[0];
      ::poll(&stop, 1, kPauseMs);
    }
    if (both[0].revents != 0) return;
    while (AcceptOne()) {
    }
  }
}

bool ConnectionListener::AcceptOne() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EINTR || errno == ECONNABORTED) return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK) Shed();
    return false;
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Acceptor::NewConnectionParameters connection;
  connection.listener_fd = listener_;
  connection.fd = fd;
  acceptor_->HandleNewConnection(&connection);
  return true;
}

void ConnectionListener::Shed() {
  if (spare_ >= 0) {
    ::close(std::exchange(spare_, -1));
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) ::close(fd);
  }
  spare_ = OpenSpare();
  pollfd stop = {.fd = stop_, .events = POLLIN, .revents = 0};
  ::poll(&stop, 1, kPauseMs);
}

}  // namespace pitwall::grpc_adapter
