// Readiness of the server's sockets, its stop event, and its bell.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "services/base/status.h"

namespace pitwall::collector {

// Set of file descriptors that the server's thread waits on. Any thread may call Stop while the set
// is open, and may ring the bell even after the set is closed.
class ReadinessSet {
 public:
  static constexpr uint64_t kStop = 1;  // ID of the stop event
  static constexpr uint64_t kBell = 2;  // ID of the bell

  ~ReadinessSet() { Close(); }

  // Opens the set with the stop event and the bell. After an error, the set is closed.
  Status Open();
  // Closes the set. Idempotent.
  void Close();

  // Adds a descriptor. Its events have the ID `id`. Returns false on failure.
  bool Add(int fd, uint64_t id);
  void Remove(int fd);
  // Waits for events and returns their number. Returns -1 and sets errno on failure.
  int Wait(std::span<epoll_event> events, int timeout_ms);

  // Makes the stop event ready until the set is closed.
  void Stop();
  // Returns a callback that rings the bell. It may outlive the set.
  std::function<void()> Ringer() const;
  // Silences the bell until the next ring.
  void SilenceBell();

 private:
  struct Bell {
    int fd = -1;
    ~Bell();
  };

  int epoll_fd_ = -1;
  int stop_fd_ = -1;
  std::shared_ptr<Bell> bell_;  // shared with the callbacks that ring it
};

}  // namespace pitwall::collector
