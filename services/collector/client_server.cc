#include "services/collector/client_server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "services/base/log.h"
#include "services/base/strings.h"

namespace pitwall::collector {
namespace {

constexpr uint64_t kListener = 0;
constexpr uint64_t kStop = 1;
constexpr size_t kChunk = 64u << 10;
constexpr int kChunksPerTurn = 4;    // then the next client has its turn
constexpr int kMaxLastTurns = 1000;  // of a client whose process is gone: then the rest is lost
constexpr int64_t kRestNs = kNanosPerSecond;  // of a listener without file descriptors

uint32_t LengthOf(std::string_view bytes) {
  uint32_t length = 0;
  for (int i = 0; i < 4; ++i)
    length |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[static_cast<size_t>(i)]))
              << (8 * i);
  return length;
}

std::string Framed(std::string_view message) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(message.size() >> (8 * i)));
  out += message;
  return out;
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace

ClientServer::ClientServer(const ServerOptions& options, ClientSessions* sessions,
                           const Clock& clock, Counters* counters)
    : options_(options),
      sessions_(sessions),
      clock_(clock),
      counters_(counters),
      chunk_(kChunk, '\0') {}

ClientServer::~ClientServer() { Stop(); }

Status ClientServer::Listen() {
  const std::string& path = options_.path;
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgument(Cat("socket ", path, ": ", path.size(), " bytes, more than ",
                               sizeof(sockaddr_un::sun_path) - 1));
  }
  const sockaddr_un address = AddressOf(path);
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode))
      return FailedPrecondition(Cat("socket ", path, ": something else is there"));
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return ErrnoStatus(errno, "socket");
    const int connected =
        connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const int why = errno;
    close(probe);
    if (connected == 0 || why != ECONNREFUSED) {
      return FailedPrecondition(Cat("socket ", path, ": somebody listens there already"));
    }
    unlink(path.c_str());
  }
  listen_fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listen_fd_ < 0) return ErrnoStatus(errno, "socket");
  if (bind(listen_fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), options_.mode) != 0 || listen(listen_fd_, 128) != 0) {
    return ErrnoStatus(errno, Cat("socket ", path));
  }
  return OkStatus();
}

Status ClientServer::Start() {
  Status status = Listen();
  if (status.ok()) {
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event stop{};
    stop.events = EPOLLIN;
    stop.data.u64 = kStop;
    if (epoll_fd_ < 0 || stop_fd_ < 0 ||
        epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, stop_fd_, &stop) != 0) {
      status = ErrnoStatus(errno, "epoll");
    }
  }
  if (!status.ok()) {
    const bool bound = epoll_fd_ >= 0 || stop_fd_ >= 0;
    for (int* fd : {&listen_fd_, &epoll_fd_, &stop_fd_}) {
      if (*fd >= 0) close(*fd);
      *fd = -1;
    }
    if (bound) unlink(options_.path.c_str());
    return status;
  }
  ListenMore(true);
  thread_ = std::thread([this] { Loop(); });
  return OkStatus();
}

void ClientServer::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!write(stop_fd_, &one, sizeof(one));
  thread_.join();
  // The clients are not lost, we go: the next collector hears their hello again.
  for (const auto& [client, connection] : connections_) close(connection.fd);
  connections_.clear();
  counters_->clients.store(0, std::memory_order_relaxed);
  for (int* fd : {&listen_fd_, &epoll_fd_, &stop_fd_}) {
    close(*fd);
    *fd = -1;
  }
  unlink(options_.path.c_str());
}

// Out of file descriptors the listening socket stays readable for ever: it rests for a while.
void ClientServer::ListenMore(bool on) {
  if (on == listening_) return;
  listening_ = on;
  if (!on) rests_since_ns_ = clock_.MonotonicNs();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListener;
  epoll_ctl(epoll_fd_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listen_fd_, &event);
}

void ClientServer::Loop() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()),
                                 sessions_->PatrolMs());
    if (count < 0 && errno != EINTR) {
      PITWALL_LOG(kError, "collector", "epoll: ", ToStd(ErrnoStatus(errno, "wait").message()));
      return;
    }
    for (int i = 0; i < count; ++i) {
      const uint64_t who = events[static_cast<size_t>(i)].data.u64;
      if (who == kStop) return;
      if (who == kListener) {
        Accept();
      } else if (const auto it = connections_.find(who); it != connections_.end()) {
        Serve(it);
      }
    }
    // By the clock: with clients that send all the time, no wait ever times out.
    if (!listening_ && clock_.MonotonicNs() - rests_since_ns_ >= kRestNs) ListenMore(true);
    CloseSilent();
    const int64_t patrol_ns = sessions_->PatrolMs() * kNanosPerMilli;
    if (count <= 0 || clock_.MonotonicNs() - patrolled_at_ns_ >= patrol_ns) Patrol();
    counters_->clients.store(connections_.size(), std::memory_order_relaxed);
  }
}

void ClientServer::Accept() {
  while (true) {
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        if (!complained_)
          PITWALL_LOG(kError, "collector", ToStd(ErrnoStatus(errno, "accept").message()));
        complained_ = true;
        ListenMore(false);
      }
      return;
    }
    complained_ = false;
    if (connections_.size() >= options_.max_clients) {
      if (counters_->clients_refused.fetch_add(1, std::memory_order_relaxed) == 0) {
        PITWALL_LOG(kWarning, "collector", "more than ", options_.max_clients,
                    " clients: one is refused");
      }
      close(fd);
      continue;
    }
    Connection connection;
    connection.fd = fd;
    connection.since_ns = clock_.MonotonicNs();
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
      connection.peer = {peer.pid, peer.uid};
    const uint64_t client = next_client_++;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = client;
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
      close(fd);
      continue;
    }
    counters_->clients_accepted.fetch_add(1, std::memory_order_relaxed);
    connections_.emplace(client, std::move(connection));
  }
}

bool ClientServer::Serve(Connections::iterator it) {
  for (int turn = 0; turn < kChunksPerTurn; ++turn) {
    const ssize_t n = recv(it->second.fd, chunk_.data(), chunk_.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0) {
      Close(it, n == 0 && it->second.in.size() > 0 ? "it ended in the middle of a message" : "");
      return false;
    }
    it->second.in.append(chunk_.data(), static_cast<size_t>(n));
    buffered_ += static_cast<size_t>(n);
    if (!Messages(it)) return false;
    if (buffered_ > options_.max_buffered_bytes) {
      Close(it, "too many bytes wait for the ends of messages");
      return false;
    }
  }
  return true;
}

// Hands out the whole messages in the buffer.
bool ClientServer::Messages(Connections::iterator it) {
  Connection& connection = it->second;
  size_t at = 0;
  bool open = true;
  std::string malformed;
  while (connection.in.size() - at >= 4) {
    const std::string_view rest = std::string_view(connection.in).substr(at);
    const size_t length = LengthOf(rest);
    const size_t most = connection.said_hello ? kMaxClientMessage : kMaxClientHello;
    if (length > most) {
      malformed = Cat("a message of ", length, " bytes, more than ", most);
      break;
    }
    if (rest.size() - 4 < length) break;
    const auto answer = sessions_->Handle(it->first, connection.peer, rest.substr(4, length));
    at += 4 + length;
    if (!answer.ok()) {
      malformed = std::string(ToStd(answer.status().message()));
      break;
    }
    connection.said_hello = true;
    if (!answer->bytes.empty()) {
      const std::string framed = Framed(answer->bytes);
      // It fits any socket buffer; a client that does not even read its welcome is no client.
      if (send(connection.fd, framed.data(), framed.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
          static_cast<ssize_t>(framed.size())) {
        open = false;
        break;
      }
    }
    if (answer->close) {
      open = false;
      break;
    }
  }
  connection.in.erase(0, at);
  buffered_ -= at;
  if (connection.in.empty() && connection.in.capacity() > kChunk) std::string().swap(connection.in);
  if (!open || !malformed.empty()) {
    Close(it, malformed);
    return false;
  }
  return true;
}

// `malformed`: what is wrong with what it sent; "" when nothing is.
void ClientServer::Close(Connections::iterator it, std::string_view malformed) {
  if (!malformed.empty()) {
    counters_->clients_malformed.fetch_add(1, std::memory_order_relaxed);
    PITWALL_LOG(kWarning, "collector", "closed a client (pid ", it->second.peer.pid,
                "): ", malformed);
  }
  buffered_ -= it->second.in.size();
  close(it->second.fd);
  sessions_->Closed(it->first);
  connections_.erase(it);
  counters_->clients.store(connections_.size(), std::memory_order_relaxed);
}

void ClientServer::Patrol() {
  patrolled_at_ns_ = clock_.MonotonicNs();
  for (const uint64_t client : sessions_->Departed()) {
    // What it sent before its end comes first. Its children may hold the connection open.
    for (int turn = 0; turn < kMaxLastTurns; ++turn) {
      const auto it = connections_.find(client);
      if (it == connections_.end()) break;
      int waiting = 0;
      if (ioctl(it->second.fd, FIONREAD, &waiting) != 0 || waiting == 0) break;
      Serve(it);
    }
    if (const auto it = connections_.find(client); it != connections_.end()) Close(it, "");
  }
  sessions_->Patrol();
}

void ClientServer::CloseSilent() {
  const int64_t before_ns = clock_.MonotonicNs() - options_.hello_within_ns;
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto next = std::next(it);
    if (it->second.said_hello || it->second.since_ns >= before_ns) {
      it = next;
      continue;
    }
    const uint64_t after = next == connections_.end() ? UINT64_MAX : next->first;
    Close(it, "no hello");
    it = connections_.lower_bound(after);
  }
}

}  // namespace pitwall::collector
