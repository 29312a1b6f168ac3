// Unix stream socket that accepts clients.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/collector/clients/socket/readiness_set.h"

namespace pitwall::collector {

// Listening socket and its file. If the process runs out of file descriptors, the socket stays
// readable, so accepting pauses for a second. Not thread-safe.
class ListeningSocket {
 public:
  struct Address {
    std::string path;
    uint32_t mode = 0666;
    int64_t group = -1;  // group of the socket file; -1 means the default group
  };
  // The socket's events have the ID `id` in `ready`. The caller owns the clock and `ready`.
  ListeningSocket(Address address, const Clock& clock, ReadinessSet* ready, uint64_t id);
  ~ListeningSocket() { Close(); }

  // Binds the path, replacing a stale socket file. Returns FailedPrecondition if another process
  // listens on the path, the path is not a socket, or other users may rename files in its
  // directory. Returns InvalidArgument if the path is too long. After an error, the socket is
  // closed.
  Status Open();
  // Closes the socket and removes its file. Idempotent.
  void Close();
  // Adds the socket to the readiness set.
  void Listen();
  // Resumes listening if the pause is over.
  void ListenAfterPause();
  // Returns the next connection, or -1 if no client is waiting or accepting is paused. The caller
  // owns the descriptor.
  int Accept();

 private:
  Status Bind();
  void Pause();

  const Address address_;
  const Clock& clock_;
  ReadinessSet* const ready_;
  const uint64_t id_;
  int fd_ = -1;
  bool listening_ = false;
  bool complained_ = false;
  int64_t paused_since_ns_ = 0;  // monotonic
};

}  // namespace pitwall::collector
