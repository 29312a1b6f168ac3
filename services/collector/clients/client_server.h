// The Unix stream socket on which training processes talk to the collector.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/clients/client_sessions.h"
#include "services/collector/clients/owner_rate_limiter.h"
#include "services/collector/metrics/counters.h"
#include "services/collector/metrics/refusal.h"

namespace pitwall::collector {

inline constexpr size_t kMaxClientMessage = 4u << 20;
inline constexpr size_t kMaxClientHello = 64u << 10;  // of a message before the welcome

struct ServerOptions {
  std::string path;
  std::string root = "/";  // parent of /proc
  uint32_t mode = 0666;
  int64_t group = -1;  // of the socket file; -1: as the system gives it
  size_t max_clients = 1024;
  size_t max_clients_per_owner = 256;
  size_t bytes_per_second_per_owner = size_t{1} << 40;
  size_t max_buffered_bytes = 64u << 20;  // of messages that are not whole yet, over all clients
  int64_t hello_within_ns = 10 * kNanosPerSecond;
  // Without a whole message. Clients beat each second; a frozen rank does not, but is watched.
  int64_t idle_ns = 1800 * kNanosPerSecond;
};

// One thread serves all connections: it cuts their bytes into messages for the sessions, and closes
// whoever sends what cannot be, with one log line. It waits for readiness only. Start and Stop from
// one thread.
//
// An owner (ServerOptions) has a share of the connections and of the memory: more of it is refused,
// and when all memory is in use the owner with the most gives way. Whoever is refused is told why.
// An owner that sends faster than its rate is read more slowly: its clients wait.
class ClientServer {
 public:
  // `sessions` is used by the server's thread only. Everything is borrowed.
  ClientServer(const ServerOptions& options, ClientSessions* sessions, const Clock& clock,
               Counters* counters);
  ~ClientServer();

  // Binds the path. A socket file that nobody listens on is replaced; FailedPrecondition: somebody
  // does, something else is there, or others may rename what is in its directory. InvalidArgument:
  // the path is too long.
  Status Start();
  // Closes everything and removes the socket file. Idempotent.
  void Stop();

 private:
  struct Connection {
    int fd = -1;
    Peer peer;
    std::string owner;
    int64_t heard_ns = 0;  // monotonic; of its last whole message, or of its connection
    bool said_hello = false;
    bool held = false;  // not read from, since its owner sends too fast
    std::string in;
  };
  static constexpr size_t kChunk = 64u << 10;
  static constexpr int64_t kSayNs =
      10 * kNanosPerSecond;  // one log line per kind of refusal in this time
  using Connections = std::map<uint64_t, Connection>;
  // What an owner uses; no entry: nothing.
  struct Usage {
    size_t clients = 0;
    size_t buffered = 0;
  };
  struct NewsBell {
    int fd = -1;
    ~NewsBell();
  };

  Status Listen();
  void Loop();
  void Accept();
  void ListenMore(bool on);
  // False: the connection is closed. `last`: its process is gone, so what it left is read at once.
  bool Serve(Connections::iterator it, bool last = false);
  // Reads from the connection no more until its owner may send again, or does so.
  void Hold(Connections::iterator it, bool on);
  void ReleaseHeld();
  bool Messages(Connections::iterator it);
  // `refused`: why, where it is us that end it.
  void Close(Connections::iterator it, const Status& refused);
  void CloseSilent();
  // Tells the other side, counts, and writes a log line now and then.
  void Tell(int fd, const Peer& peer, std::string_view owner, const Status& refused);
  // False: a connection was closed, and `it` is not valid any more.
  bool CheckBuffered(Connections::iterator it);
  void Buffer(Connection& connection, int64_t bytes);
  // Tells clients what has become durable.
  void TellNews();
  // Closes the connections of processes that are gone, and lets the sessions look after the rest.
  void Patrol();

  const ServerOptions options_;
  ClientSessions* const sessions_;
  const Clock& clock_;
  Counters* const counters_;
  std::thread thread_;
  int listen_fd_ = -1;
  int epoll_fd_ = -1;
  int stop_fd_ = -1;
  size_t max_clients_ = 0;          // what the limit of open files leaves of options_.max_clients
  std::shared_ptr<NewsBell> bell_;  // shared with whoever rings it
  bool listening_ = false;
  bool complained_ = false;
  // The thread's own.
  int64_t rests_since_ns_ = 0;  // monotonic; of the listening socket
  uint64_t next_client_ = 3;    // 0, 1 and 2 mark the listening socket, the stop and the bell
  int64_t patrolled_ns_ = 0;
  size_t buffered_ = 0;
  OwnerRateLimiter rates_;
  size_t held_ = 0;  // connections
  std::pair<int64_t, uint64_t> said_held_{};
  std::map<std::string, Usage, std::less<>> usage_;             // by owner
  std::array<std::pair<int64_t, uint64_t>, kRefusals> said_{};  // when last, how many unsaid since
  int64_t patrolled_at_ns_ = 0;                                 // monotonic
  Connections connections_;
  std::string chunk_;
};

}  // namespace pitwall::collector
