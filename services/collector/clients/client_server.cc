#include "services/collector/clients/client_server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/files/trusted_path.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {

constexpr uint64_t kListener = 0;
constexpr uint64_t kStop = 1;
constexpr uint64_t kNews = 2;
constexpr int kChunksPerTurn = 4;    // afterward, the next client is served
constexpr int kMaxLastTurns = 1000;  // turns after the process ended; further bytes are lost
constexpr int64_t kRestNs = kNanosPerSecond;  // pause of the listener without free descriptors
constexpr int kHeldMs = 20;                   // interval for checking held connections
constexpr size_t kOtherFiles = 1024;

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

// Returns how many of the requested connections fit the limit on open files. Raises the soft limit
// if possible. Some files are reserved for the log.
size_t ClientsWithinFileLimit(size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < wanted + kOtherFiles && limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted + kOtherFiles);
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  const size_t files = limit.rlim_cur;
  const size_t fit = std::max<size_t>(files > kOtherFiles ? files - kOtherFiles : 0, files / 2);
  if (fit >= wanted) return wanted;
  PITWALL_LOG(kWarning, "collector", "collector.limits.clients: ", wanted,
              " connections require more than ", files, " open files; allowing ", fit,
              " connections (raise the limit on open files)");
  return std::max<size_t>(fit, 1);
}

}  // namespace

ClientServer::ClientServer(const ServerOptions& options, ClientSessions* sessions,
                           const Clock& clock, Counters* counters)
    : options_(options),
      sessions_(sessions),
      clock_(clock),
      counters_(counters),
      rates_(options.bytes_per_second_per_owner),
      chunk_(kChunk, '\0') {}

ClientServer::NewsBell::~NewsBell() {
  if (fd >= 0) close(fd);
}

ClientServer::~ClientServer() { Stop(); }

Status ClientServer::Listen() {
  const std::string& path = options_.path;
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
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode))
      return FailedPrecondition(
          Cat("socket ", path, ": a file that is not a socket already exists"));
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
  }
  listen_fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listen_fd_ < 0) return ErrnoStatus(errno, "socket");
  if (bind(listen_fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return ErrnoStatus(errno, Cat("socket ", path));
  // Clients cannot connect before listen().
  Status status;
  if (options_.group >= 0 &&
      lchown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(options_.group)) != 0) {
    status = ErrnoStatus(
        errno, Cat("collector.socket_group: socket ", path, ": cannot change the group to ",
                   options_.group, "; run the collector as root or as a member of it"));
  } else if (chmod(path.c_str(), options_.mode) != 0) {
    status = ErrnoStatus(errno, Cat("collector.socket_mode: socket ", path));
  } else if (listen(listen_fd_, 128) != 0) {
    status = ErrnoStatus(errno, Cat("socket ", path));
  }
  if (!status.ok()) unlink(path.c_str());
  return status;
}

Status ClientServer::Start() {
  Status status = Listen();
  if (status.ok()) {
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event stop{};
    stop.events = EPOLLIN;
    stop.data.u64 = kStop;
    bell_ = std::make_shared<NewsBell>();
    bell_->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event news{};
    news.events = EPOLLIN;
    news.data.u64 = kNews;
    if (epoll_fd_ < 0 || stop_fd_ < 0 || bell_->fd < 0 ||
        epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, stop_fd_, &stop) != 0 ||
        epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, bell_->fd, &news) != 0) {
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
  max_clients_ = ClientsWithinFileLimit(options_.max_clients);
  ListenMore(true);
  sessions_->OnNews([bell = bell_] {
    const uint64_t one = 1;
    (void)!write(bell->fd, &one, sizeof(one));
  });
  thread_ = std::thread([this] { Loop(); });
  return OkStatus();
}

void ClientServer::Stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!write(stop_fd_, &one, sizeof(one));
  thread_.join();
  sessions_->OnNews(nullptr);
  // The clients do not count as lost, because they will send a hello to the next collector.
  for (const auto& [client, connection] : connections_) close(connection.fd);
  connections_.clear();
  usage_.clear();
  counters_->clients.store(0, std::memory_order_relaxed);
  for (int* fd : {&listen_fd_, &epoll_fd_, &stop_fd_}) {
    close(*fd);
    *fd = -1;
  }
  unlink(options_.path.c_str());
}

// Starts or pauses accepting connections. Without free file descriptors, the listening socket stays
// readable forever, so accepting pauses for kRestNs.
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
    const int count =
        epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()),
                   held_ > 0 ? std::min(kHeldMs, sessions_->PatrolMs()) : sessions_->PatrolMs());
    if (count < 0 && errno != EINTR) {
      PITWALL_LOG(kError, "collector", "epoll: ", ToStd(ErrnoStatus(errno, "wait").message()));
      return;
    }
    for (int i = 0; i < count; ++i) {
      const uint64_t who = events[static_cast<size_t>(i)].data.u64;
      if (who == kStop) return;
      if (who == kListener) {
        Accept();
      } else if (who == kNews) {
        uint64_t rings;
        (void)!read(bell_->fd, &rings, sizeof(rings));
        SendNews();
      } else if (const auto it = connections_.find(who); it != connections_.end()) {
        Serve(it);
      }
    }
    // The pauses are measured with the clock, because no wait times out while clients send
    // continuously.
    if (!listening_ && clock_.MonotonicNs() - rests_since_ns_ >= kRestNs) ListenMore(true);
    ReleaseHeld();
    CloseSilent();
    const int64_t patrol_ns = sessions_->PatrolMs() * kNanosPerMilli;
    if ((count <= 0 && held_ == 0) || clock_.MonotonicNs() - patrolled_at_ns_ >= patrol_ns)
      Patrol();
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
    Connection connection;
    connection.fd = fd;
    connection.last_message_ns = clock_.MonotonicNs();
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
      connection.peer = {peer.pid, peer.uid, PodOf(options_.root, peer.pid)};
    connection.owner = OwnerOf(connection.peer.uid, connection.peer.pod);
    const auto used = usage_.find(connection.owner);
    Status refused;
    if (used != usage_.end() && used->second.clients >= options_.max_clients_per_owner) {
      refused = Refuse(Refusal::kClientsOfOwner,
                       Cat(connection.owner, " has ", used->second.clients,
                           " connections, the maximum set by collector.limits.clients_per_owner; "
                           "close some or raise the limit"));
    } else if (connections_.size() >= max_clients_) {
      refused =
          Refuse(Refusal::kClients,
                 Cat("the collector has ", connections_.size(),
                     " connections, the maximum set by collector.limits.clients; raise the limit"));
    }
    if (!refused.ok()) {
      counters_->clients_refused.fetch_add(1, std::memory_order_relaxed);
      Report(fd, connection.peer, connection.owner, refused);
      close(fd);
      continue;
    }
    const uint64_t client = next_client_++;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = client;
    if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) {
      close(fd);
      continue;
    }
    counters_->clients_accepted.fetch_add(1, std::memory_order_relaxed);
    ++usage_[connection.owner].clients;
    connections_.emplace(client, std::move(connection));
  }
}

bool ClientServer::Serve(Connections::iterator it, bool last) {
  for (int turn = 0; turn < kChunksPerTurn; ++turn) {
    if (!last && !rates_.Allows(it->second.owner, clock_.MonotonicNs())) {
      Hold(it, true);
      return true;
    }
    const ssize_t n = recv(it->second.fd, chunk_.data(), chunk_.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0) {
      Close(it, n == 0 && it->second.in.size() > 0
                    ? Refuse(Refusal::kMalformed, "the connection ended in the middle of a message")
                    : OkStatus());
      return false;
    }
    it->second.in.append(chunk_.data(), static_cast<size_t>(n));
    Buffer(it->second, n);
    rates_.Charge(it->second.owner, static_cast<size_t>(n), clock_.MonotonicNs());
    if (!Messages(it) || !CheckBuffered(it)) return false;
  }
  return true;
}

// Passes all complete messages in the buffer to the sessions.
bool ClientServer::Messages(Connections::iterator it) {
  Connection& connection = it->second;
  size_t at = 0;
  bool open = true;
  Status refused;
  while (connection.in.size() - at >= 4) {
    const std::string_view rest = std::string_view(connection.in).substr(at);
    const size_t length = LengthOf(rest);
    const size_t most = connection.hello_received ? kMaxClientMessage : kMaxClientHello;
    if (length > most) {
      refused = Refuse(Refusal::kMalformed,
                       Cat("the message is ", length, " bytes long; the limit is ", most));
      break;
    }
    if (rest.size() - 4 < length) break;
    const auto answer = sessions_->Handle(it->first, connection.peer, rest.substr(4, length));
    at += 4 + length;
    rates_.Charge(connection.owner, OwnerRateLimiter::kMessageCost, clock_.MonotonicNs());
    if (!answer.ok()) {
      refused = answer.status();
      break;
    }
    connection.hello_received = true;
    connection.last_message_ns = clock_.MonotonicNs();
    if (!answer->bytes.empty()) {
      const std::string framed = Framed(answer->bytes);
      // The reply fits into any socket buffer, so a failed send means that the client does not
      // read.
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
  Buffer(connection, -static_cast<int64_t>(at));
  if (connection.in.empty() && connection.in.capacity() > kChunk) std::string().swap(connection.in);
  if (!open || !refused.ok()) {
    Close(it, refused);
    return false;
  }
  return true;
}

void ClientServer::SendNews() {
  for (const auto& [client, bytes] : sessions_->News()) {
    const auto it = connections_.find(client);
    if (it == connections_.end()) continue;
    const std::string framed = Framed(bytes);
    // The message fits into any socket buffer unless the client does not read. The connection of
    // such a client is closed, and the client has to reconnect.
    if (send(it->second.fd, framed.data(), framed.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(framed.size()))
      Close(it, OkStatus());
  }
}

void ClientServer::Report(int fd, const Peer& peer, std::string_view owner, const Status& refused) {
  const Refusal why = RefusalOf(refused);
  counters_->CountRefused(why, OwnerClass(owner));
  client::v1::CollectorMessage message;
  message.mutable_refused()->set_reason(std::string(RefusalName(why)));
  message.mutable_refused()->set_message(std::string(ToStd(refused.message()).substr(0, 2048)));
  const std::string framed = Framed(message.SerializeAsString());
  // The refusal is dropped if the socket buffer is full, because the server never waits for a
  // client.
  (void)!send(fd, framed.data(), framed.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  auto& [logged_ns, suppressed] = logged_[static_cast<size_t>(why)];
  const int64_t now_ns = clock_.MonotonicNs();
  if (logged_ns != 0 && now_ns - logged_ns < kLogIntervalNs) {
    ++suppressed;
    return;
  }
  PITWALL_LOG(kWarning, "collector", "refused a client (", RefusalName(why), ", pid ", peer.pid,
              ", ", owner, "): ", ToStd(refused.message()),
              suppressed == 0 ? std::string()
                              : Cat(" (and ", suppressed, " more since the last log line)"));
  logged_ns = std::max<int64_t>(now_ns, 1);
  suppressed = 0;
}

void ClientServer::Close(Connections::iterator it, const Status& refused) {
  if (!refused.ok()) {
    if (RefusalOf(refused) == Refusal::kMalformed)
      counters_->clients_malformed.fetch_add(1, std::memory_order_relaxed);
    Report(it->second.fd, it->second.peer, it->second.owner, refused);
  }
  if (it->second.held) --held_;
  Buffer(it->second, -static_cast<int64_t>(it->second.in.size()));
  if (const auto used = usage_.find(it->second.owner); --used->second.clients == 0)
    usage_.erase(used);
  close(it->second.fd);
  sessions_->Closed(it->first);
  connections_.erase(it);
  counters_->clients.store(connections_.size(), std::memory_order_relaxed);
}

void ClientServer::Patrol() {
  patrolled_at_ns_ = clock_.MonotonicNs();
  for (const uint64_t client : sessions_->Departed()) {
    // Data that was sent before the process ended is read first. Child processes may still hold the
    // connection open.
    for (int turn = 0; turn < kMaxLastTurns; ++turn) {
      const auto it = connections_.find(client);
      if (it == connections_.end()) break;
      int waiting = 0;
      if (ioctl(it->second.fd, FIONREAD, &waiting) != 0 || waiting == 0) break;
      Serve(it, /*last=*/true);
    }
    if (const auto it = connections_.find(client); it != connections_.end()) Close(it, OkStatus());
  }
  sessions_->Patrol();
  SendNews();
}

}  // namespace pitwall::collector
