// The Unix stream socket on which training processes talk to the collector.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "absl/container/btree_map.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/client_sessions.h"
#include "services/collector/counters.h"

namespace pitwall::collector {

inline constexpr size_t kMaxClientMessage = 4u << 20;
inline constexpr size_t kMaxClientHello = 64u << 10;  // of a message before the welcome

struct ServerOptions {
  std::string path;
  uint32_t mode = 0666;
  size_t max_clients = 256;
  size_t max_buffered_bytes = 64u << 20;  // of messages that are not whole yet, over all clients
  int64_t hello_within_ns = 10 * kNanosPerSecond;
};

// One thread serves all connections: it cuts their bytes into messages for the sessions, and closes
// whoever sends what cannot be, with one log line. It waits for readiness only. Start and Stop from
// one thread.
class ClientServer {
 public:
  // `sessions` is used by the server's thread only. Everything is borrowed.
  ClientServer(const ServerOptions& options, ClientSessions* sessions, const Clock& clock,
               Counters* counters);
  ~ClientServer();

  // Binds the path. A socket file that nobody listens on is replaced; FailedPrecondition: somebody
  // does, or something else is there. InvalidArgument: the path is too long.
  Status Start();
  // Closes everything and removes the socket file. Idempotent.
  void Stop();

 private:
  struct Connection {
    int fd = -1;
    Peer peer;
    int64_t since_ns = 0;  // monotonic
    bool said_hello = false;
    std::string in;
  };
  using Connections = absl::btree_map<uint64_t, Connection>;

  Status Listen();
  void Loop();
  void Accept();
  void ListenMore(bool on);
  // False: the connection is closed.
  bool Serve(Connections::iterator it);
  bool Messages(Connections::iterator it);
  void Close(Connections::iterator it, std::string_view malformed);
  void CloseSilent();
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
  bool listening_ = false;
  bool complained_ = false;
  // The thread's own.
  int64_t rests_since_ns_ = 0;  // monotonic; of the listening socket
  uint64_t next_client_ = 2;    // 0 and 1 mark the listening socket and the stop
  size_t buffered_ = 0;
  int64_t patrolled_at_ns_ = 0;  // monotonic
  Connections connections_;
  std::string chunk_;
};

}  // namespace pitwall::collector
