// Limits of one owner on the collector's socket thread: memory for unfinished messages, and time.
#include <sys/epoll.h>

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/client_server.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kPatrolNs = kNanosPerSecond;
constexpr size_t kShares = 4;  // no owner has more than a quarter of the memory for messages

}  // namespace

void ClientServer::Hold(Connections::iterator it, bool on) {
  Connection& connection = it->second;
  if (connection.held == on) return;
  connection.held = on;
  on ? ++held_ : --held_;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = it->first;
  // Out of the set: an end that is not read yet would wake the thread all the time.
  epoll_ctl(epoll_fd_, on ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, connection.fd, &event);
  const int64_t now_ns = clock_.MonotonicNs();
  if (!on) {
    connection.heard_ns = now_ns;  // it was us that did not listen
    return;
  }
  counters_->clients_held.fetch_add(1, std::memory_order_relaxed);
  auto& [said_ns, unsaid] = said_held_;
  if (said_ns != 0 && now_ns - said_ns < kSayNs) {
    ++unsaid;
    return;
  }
  PITWALL_LOG(kWarning, "collector", connection.owner, " (pid ", connection.peer.pid,
              ") sends faster than collector.limits.bytes_per_second_per_owner, ",
              options_.bytes_per_second_per_owner, ": its clients wait",
              unsaid == 0 ? std::string() : Cat(" (and ", unsaid, " times since the last line)"));
  said_ns = std::max<int64_t>(now_ns, 1);
  unsaid = 0;
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
  const Status refused = Refuse(
      Refusal::kBuffered, "too many bytes wait for the ends of messages: send smaller messages");
  if (usage_[it->second.owner].buffered > share) {
    Close(it, refused);
    return false;
  }
  if (buffered_ <= options_.max_buffered_bytes) return true;
  // Somebody has to give way: the largest connection of whoever has the most.
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
  return false;  // closing one moves the others; what else `it` has sent comes in its next turn
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
    const int64_t within_ns = connection.said_hello ? options_.idle_ns : options_.hello_within_ns;
    if (now_ns - connection.heard_ns <= within_ns) {
      it = next;
      continue;
    }
    const uint64_t after = next == connections_.end() ? UINT64_MAX : next->first;
    Close(it, connection.said_hello ? Refuse(Refusal::kIdle, Cat("no whole message for longer than "
                                                                 "collector.limits.idle_timeout, ",
                                                                 within_ns / kNanosPerSecond, " s"))
                                    : Refuse(Refusal::kNoHello,
                                             Cat("no hello within collector.limits.hello_timeout, ",
                                                 within_ns / kNanosPerSecond, " s")));
    it = connections_.lower_bound(after);
  }
}

}  // namespace pitwall::collector
