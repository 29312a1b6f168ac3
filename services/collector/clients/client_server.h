// Unix stream socket server for connections from training processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"
#include "services/collector/clients/client_sessions.h"
#include "services/collector/clients/client_usage.h"
#include "services/collector/clients/owner_rate_limiter.h"
#include "services/collector/clients/socket/listening_socket.h"
#include "services/collector/clients/socket/log_interval.h"
#include "services/collector/clients/socket/readiness_set.h"
#include "services/collector/clients/socket/refusal_reporter.h"
#include "services/collector/metrics/counters.h"

namespace pitwall::collector {

inline constexpr size_t kMaxClientMessage = 4u << 20;
inline constexpr size_t kMaxClientHello = 64u << 10;  // limit for messages before the welcome

struct ServerOptions {
  std::string path;
  std::string root = "/";  // parent of /proc
  uint32_t mode = 0666;
  int64_t group = -1;  // group of the socket file; -1 means the default group
  size_t max_clients = 1024;
  size_t max_clients_per_owner = 256;
  size_t bytes_per_second_per_owner = size_t{1} << 40;
  size_t max_buffered_bytes = 64u << 20;  // limit on incomplete messages from all clients
  int64_t hello_within_ns = 10 * kNanosPerSecond;
  // Maximum time without a complete message. Clients send a heartbeat every second. A frozen rank
  // sends no heartbeats but must stay connected, so that it can be monitored.
  int64_t idle_ns = 1800 * kNanosPerSecond;
};

// Serves all connections in one thread. The server splits the received bytes into messages for the
// sessions. If a client sends malformed data, the server closes the connection and logs one line.
// The thread blocks only while it waits for readiness. Start and Stop must be called from the same
// thread.
//
// Each owner has a share of the connections and memory (ServerOptions); requests beyond the share
// are refused. When all memory is in use, the server closes a connection of the owner with the
// largest usage. Refused clients receive the reason. If an owner exceeds its rate, the server reads
// from it more slowly, so that the owner's clients block.
class ClientServer {
 public:
  // Only the server's thread uses `sessions`. The caller owns all arguments.
  ClientServer(const ServerOptions& options, ClientSessions* sessions, const Clock& clock,
               Counters* counters);
  ~ClientServer();

  // Binds the path, replacing a stale socket file. Returns FailedPrecondition if another process
  // listens on the path, the path is not a socket, or other users may rename files in its
  // directory. Returns InvalidArgument if the path is too long.
  Status Start();
  // Closes all connections and removes the socket file. Idempotent.
  void Stop();

 private:
  struct Connection {
    int fd = -1;
    Peer peer;
    std::string owner;
    int64_t last_message_ns = 0;  // monotonic time of the last complete message or the connect
    bool hello_received = false;
    bool held = false;  // paused because its owner sends too fast
    std::string in;
  };
  static constexpr size_t kChunk = 64u << 10;
  using Connections = std::map<uint64_t, Connection>;

  void Loop();
  void Accept();
  // Adds the connection, or refuses it if it exceeds a limit.
  void Admit(int fd);
  Status CheckLimits(const std::string& owner) const;
  // Returns false if the connection was closed. If `last` is true, the process has exited and all
  // remaining data is read.
  bool Serve(Connections::iterator it, bool last = false);
  // If `on` is true, stops reading from the connection because its owner exceeds the rate limit.
  // Otherwise, resumes reading.
  void Hold(Connections::iterator it, bool on);
  void ReleaseHeld();
  bool Messages(Connections::iterator it);
  // Closes the connection. `refused` is the reason if the server refuses the client.
  void Close(Connections::iterator it, const Status& refused);
  void CloseSilent();
  // Returns false if a connection was closed. `it` is then invalid.
  bool CheckBuffered(Connections::iterator it);
  // Notifies clients of newly durable updates.
  void SendNews();
  // Closes the connections of processes that have ended and runs the sessions' periodic checks.
  void Patrol();

  const ServerOptions options_;
  ClientSessions* const sessions_;
  const Clock& clock_;
  Counters* const counters_;
  Worker worker_{nullptr, "clients"};  // the destructor calls Stop
  ReadinessSet ready_;
  ListeningSocket socket_;
  size_t max_clients_ = 0;  // options_.max_clients, reduced to the limit on open files
  // Used only by the server's thread.
  uint64_t next_client_ = 3;  // 0, 1, and 2 are the listening socket, the stop event, and the bell
  int64_t patrolled_ns_ = 0;
  OwnerRateLimiter rates_;
  size_t held_ = 0;  // number of held connections
  LogInterval held_logged_;
  ClientUsage usage_;
  RefusalReporter refusals_;
  int64_t patrolled_at_ns_ = 0;  // monotonic
  Connections connections_;
  std::string chunk_;
};

}  // namespace pitwall::collector
