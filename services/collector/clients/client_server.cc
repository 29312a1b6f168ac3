#include "services/collector/clients/client_server.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/socket/message_frame.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {

constexpr uint64_t kListener = 0;
constexpr int kChunksPerTurn = 4;    // afterward, the next client is served
constexpr int kMaxLastTurns = 1000;  // turns after the process ended; further bytes are lost
constexpr int kHeldMs = 20;          // interval for checking held connections
constexpr size_t kOtherFiles = 1024;

// Returns the number of requested connections that fit within the limit on open files. Raises the
// soft limit if possible. Reserves some descriptors for the log.
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
              " connections (raise the open-file limit)");
  return std::max<size_t>(fit, 1);
}

}  // namespace

ClientServer::ClientServer(const ServerOptions& options, ClientSessions* sessions,
                           const Clock& clock, Counters* counters)
    : options_(options),
      sessions_(sessions),
      clock_(clock),
      counters_(counters),
      socket_({options.path, options.mode, options.group}, clock, &ready_, kListener),
      rates_(options.bytes_per_second_per_owner),
      usage_(options.max_buffered_bytes, kMaxClientMessage + kChunk),
      refusals_(clock, counters),
      chunk_(kChunk, '\0') {
  worker_.OnStop([this] { ready_.Stop(); });
}

ClientServer::~ClientServer() { Stop(); }

Status ClientServer::Start() {
  RETURN_IF_ERROR(socket_.Open());
  if (Status status = ready_.Open(); !status.ok()) {
    socket_.Close();
    return status;
  }
  max_clients_ = ClientsWithinFileLimit(options_.max_clients);
  socket_.Listen();
  sessions_->OnNews(ready_.Ringer());
  worker_.Start([this] { Loop(); });
  return OkStatus();
}

void ClientServer::Stop() {
  if (!worker_.started()) return;
  worker_.Stop();
  sessions_->OnNews(nullptr);
  // The clients do not count as lost, because they will send a hello to the next collector.
  for (const auto& [client, connection] : connections_) close(connection.fd);
  connections_.clear();
  usage_.Clear();
  counters_->clients.store(0, std::memory_order_relaxed);
  ready_.Close();
  socket_.Close();
}

void ClientServer::Loop() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = ready_.Wait(
        events, held_ > 0 ? std::min(kHeldMs, sessions_->PatrolMs()) : sessions_->PatrolMs());
    if (count < 0 && errno != EINTR) {
      PITWALL_LOG(kError, "collector", "epoll: ", ToStd(ErrnoStatus(errno, "wait").message()));
      return;
    }
    for (int i = 0; i < count; ++i) {
      const uint64_t who = events[static_cast<size_t>(i)].data.u64;
      if (who == ReadinessSet::kStop) return;
      if (who == kListener) {
        Accept();
      } else if (who == ReadinessSet::kBell) {
        ready_.SilenceBell();
        SendNews();
      } else if (const auto it = connections_.find(who); it != connections_.end()) {
        Serve(it);
      }
    }
    socket_.ListenAfterPause();
    ReleaseHeld();
    CloseSilent();
    const int64_t patrol_ns = sessions_->PatrolMs() * kNanosPerMilli;
    if ((count <= 0 && held_ == 0) || clock_.MonotonicNs() - patrolled_at_ns_ >= patrol_ns)
      Patrol();
    counters_->clients.store(connections_.size(), std::memory_order_relaxed);
  }
}

void ClientServer::Accept() {
  for (int fd = socket_.Accept(); fd >= 0; fd = socket_.Accept()) Admit(fd);
}

void ClientServer::Admit(int fd) {
  Connection connection;
  connection.fd = fd;
  connection.last_message_ns = clock_.MonotonicNs();
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
    connection.peer = {peer.pid, peer.uid, PodOf(options_.root, peer.pid)};
  connection.owner = OwnerOf(connection.peer.uid, connection.peer.pod);
  if (const Status refused = CheckLimits(connection.owner); !refused.ok()) {
    counters_->clients_refused.fetch_add(1, std::memory_order_relaxed);
    refusals_.Report(fd, connection.peer, connection.owner, refused);
    close(fd);
    return;
  }
  const uint64_t client = next_client_++;
  if (!ready_.Add(fd, client)) {
    close(fd);
    return;
  }
  counters_->clients_accepted.fetch_add(1, std::memory_order_relaxed);
  usage_.Connect(connection.owner);
  connections_.emplace(client, std::move(connection));
}

Status ClientServer::CheckLimits(const std::string& owner) const {
  if (const size_t clients = usage_.Clients(owner); clients >= options_.max_clients_per_owner) {
    return Refuse(Refusal::kClientsOfOwner,
                  Cat(owner, " has ", clients,
                      " connections, the maximum set by collector.limits.clients_per_owner; "
                      "close some or raise the limit"));
  }
  if (connections_.size() >= max_clients_) {
    return Refuse(
        Refusal::kClients,
        Cat("the collector has ", connections_.size(),
            " connections, the maximum set by collector.limits.clients; raise the limit"));
  }
  return OkStatus();
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
    usage_.Buffer(it->second.owner, n);
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
  while (connection.in.size() - at >= kFrameHeader) {
    const std::string_view rest = std::string_view(connection.in).substr(at);
    const size_t length = LengthOf(rest);
    const size_t most = connection.hello_received ? kMaxClientMessage : kMaxClientHello;
    if (length > most) {
      refused = Refuse(Refusal::kMalformed,
                       Cat("the message is ", length, " bytes long; the limit is ", most));
      break;
    }
    if (rest.size() - kFrameHeader < length) break;
    const auto answer =
        sessions_->Handle(it->first, connection.peer, rest.substr(kFrameHeader, length));
    at += kFrameHeader + length;
    rates_.Charge(connection.owner, OwnerRateLimiter::kMessageCost, clock_.MonotonicNs());
    if (!answer.ok()) {
      refused = answer.status();
      break;
    }
    connection.hello_received = true;
    connection.last_message_ns = clock_.MonotonicNs();
    // The reply fits into any socket buffer, so a failed send means that the client is not reading.
    if (!answer->bytes.empty() && !SendFramed(connection.fd, answer->bytes)) {
      open = false;
      break;
    }
    if (answer->close) {
      open = false;
      break;
    }
  }
  connection.in.erase(0, at);
  usage_.Buffer(connection.owner, -static_cast<int64_t>(at));
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
    // The message fits into any socket buffer unless the client is not reading. Such a client is
    // disconnected and has to reconnect.
    if (!SendFramed(it->second.fd, bytes)) Close(it, OkStatus());
  }
}

void ClientServer::Close(Connections::iterator it, const Status& refused) {
  if (!refused.ok()) {
    if (RefusalOf(refused) == Refusal::kMalformed)
      counters_->clients_malformed.fetch_add(1, std::memory_order_relaxed);
    refusals_.Report(it->second.fd, it->second.peer, it->second.owner, refused);
  }
  if (it->second.held) --held_;
  usage_.Buffer(it->second.owner, -static_cast<int64_t>(it->second.in.size()));
  usage_.Disconnect(it->second.owner);
  close(it->second.fd);
  sessions_->Closed(it->first);
  connections_.erase(it);
  counters_->clients.store(connections_.size(), std::memory_order_relaxed);
}

void ClientServer::Patrol() {
  patrolled_at_ns_ = clock_.MonotonicNs();
  for (const uint64_t client : sessions_->Departed()) {
    // First, reads the data that was sent before the process ended. Child processes may still hold
    // the connection open, so it does not close on its own.
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
