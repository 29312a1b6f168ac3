// Per-owner limits on the collector's socket thread: memory for incomplete messages, and data rate.
#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/collector/clients/client_server.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kPatrolNs = kNanosPerSecond;

}  // namespace

void ClientServer::Hold(Connections::iterator it, bool on) {
  Connection& connection = it->second;
  if (connection.held == on) return;
  connection.held = on;
  on ? ++held_ : --held_;
  const int64_t now_ns = clock_.MonotonicNs();
  if (!on) {
    ready_.Add(connection.fd, it->first);
    connection.last_message_ns = now_ns;  // the client is not responsible for the pause
    return;
  }
  // A held connection is removed from the readiness set, because its unread data would wake the
  // thread continuously.
  ready_.Remove(connection.fd);
  counters_->clients_held.fetch_add(1, std::memory_order_relaxed);
  const auto suppressed = held_logged_.Admit(now_ns);
  if (!suppressed.has_value()) return;
  PITWALL_LOG(kWarning, "collector", connection.owner, " (pid ", connection.peer.pid,
              ") exceeds collector.limits.bytes_per_second_per_owner (",
              options_.bytes_per_second_per_owner, "); slowing down its clients",
              *suppressed == 0
                  ? std::string()
                  : Cat(" (and ", *suppressed, " more times since the last log line)"));
}

void ClientServer::ReleaseHeld() {
  if (held_ == 0) return;
  const int64_t now_ns = clock_.MonotonicNs();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (it->second.held && rates_.Allows(it->second.owner, now_ns)) Hold(it, false);
  }
}

bool ClientServer::CheckBuffered(Connections::iterator it) {
  const Status refused =
      Refuse(Refusal::kBuffered, "incomplete messages use too much memory; send smaller messages");
  if (usage_.ExceedsShare(it->second.owner)) {
    Close(it, refused);
    return false;
  }
  if (!usage_.ExceedsTotal()) return true;
  // The total limit is exceeded, so the server closes the largest connection belonging to the owner
  // with the most buffered bytes.
  const std::string& owner = usage_.Largest();
  auto largest = connections_.end();
  for (auto other = connections_.begin(); other != connections_.end(); ++other) {
    if (other->second.owner != owner) continue;
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
