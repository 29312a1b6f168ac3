// Per-owner limits on the collector's socket thread, for the memory of incomplete messages and for
// the rate.
#include <sys/epoll.h>

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/client_server.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kPatrolNs = kNanosPerSecond;
constexpr size_t kShares = 4;  // each owner may use at most a quarter of the message memory

}  // namespace

void ClientServer::Hold(Connections::iterator it, bool on) {
  Connection& connection = it->second;
  if (connection.held == on) return;
  connection.held = on;
  on ? ++held_ : --held_;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = it->first;
  // A held connection is removed from the epoll set, because its unread data would wake the thread
  // continuously.
  epoll_ctl(epoll_fd_, on ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, connection.fd, &event);
  const int64_t now_ns = clock_.MonotonicNs();
  if (!on) {
    connection.last_message_ns = now_ns;  // the client is not responsible for the pause
    return;
  }
  counters_->clients_held.fetch_add(1, std::memory_order_relaxed);
  auto& [logged_ns, suppressed] = held_logged_;
  if (logged_ns != 0 && now_ns - logged_ns < kLogIntervalNs) {
    ++suppressed;
    return;
  }
  PITWALL_LOG(kWarning, "collector", connection.owner, " (pid ", connection.peer.pid,
              ") exceeds collector.limits.bytes_per_second_per_owner (",
              options_.bytes_per_second_per_owner, "); slowing down its clients",
              suppressed == 0 ? std::string()
                              : Cat(" (and ", suppressed, " times since the last log line)"));
  logged_ns = std::max<int64_t>(now_ns, 1);
  suppressed = 0;
}

void ClientServer::ReleaseHeld() {
  if (held_ == 0) return;
  const int64_t now_ns = clock_.MonotonicNs();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (it->second.held && rates_.Allows(it->second.owner, now_ns)) Hold(it, false);
  }
}

void ClientServer::Buffer(Connection& connection, int64_t bytes) {
  buffered_ += static_cast<size_t>(bytes);
  usage_[connection.owner].buffered += static_cast<size_t>(bytes);
}

bool ClientServer::CheckBuffered(Connections::iterator it) {
  const size_t share = std::max(options_.max_buffered_bytes / kShares,
                                std::min(options_.max_buffered_bytes, kMaxClientMessage + kChunk));
  const Status refused =
      Refuse(Refusal::kBuffered, "incomplete messages use too much memory; send smaller messages");
  if (usage_[it->second.owner].buffered > share) {
    Close(it, refused);
    return false;
  }
  if (buffered_ <= options_.max_buffered_bytes) return true;
  // The total limit is exceeded, so the server closes the largest connection of the owner with the
  // most buffered bytes.
  const auto most = std::max_element(
      usage_.begin(), usage_.end(),
      [](const auto& a, const auto& b) { return a.second.buffered < b.second.buffered; });
  auto largest = connections_.end();
  for (auto other = connections_.begin(); other != connections_.end(); ++other) {
    if (other->second.owner != most->first) continue;
    if (largest == connections_.end() || other->second.in.size() > largest->second.in.size())
      largest = other;
  }
  Close(largest, refused);
  return false;  // closing may move the others; `it` is read in its next turn
}

void ClientServer::CloseSilent() {
  const int64_t now_ns = clock_.MonotonicNs();
  if (now_ns - patrolled_ns_ < kPatrolNs) return;
  patrolled_ns_ = now_ns;
  rates_.Sweep(now_ns);
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto next = std::next(it);
    const Connection& connection = it->second;
    if (connection.held) {
      it = next;
      continue;
    }
    const int64_t within_ns =
        connection.hello_received ? options_.idle_ns : options_.hello_within_ns;
    if (now_ns - connection.last_message_ns <= within_ns) {
      it = next;
      continue;
    }
    const uint64_t after = next == connections_.end() ? UINT64_MAX : next->first;
    Close(it,
          connection.hello_received
              ? Refuse(Refusal::kIdle,
                       Cat("no complete message within collector.limits.idle_timeout (",
                           within_ns / kNanosPerSecond, " s)"))
              : Refuse(Refusal::kNoHello, Cat("no hello within collector.limits.hello_timeout (",
                                              within_ns / kNanosPerSecond, " s)")));
    it = connections_.lower_bound(after);
  }
}

}  // namespace pitwall::collector
