#include "services/collector/clients/socket/readiness_set.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace pitwall::collector {

ReadinessSet::Bell::~Bell() {
  if (fd >= 0) close(fd);
}

Status ReadinessSet::Open() {
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  bell_ = std::make_shared<Bell>();
  bell_->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll_fd_ >= 0 && stop_fd_ >= 0 && bell_->fd >= 0 && Add(stop_fd_, kStop) &&
      Add(bell_->fd, kBell))
    return OkStatus();
  Status status = ErrnoStatus(errno, "epoll");
  Close();
  return status;
}

void ReadinessSet::Close() {
  for (int* fd : {&epoll_fd_, &stop_fd_}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

bool ReadinessSet::Add(int fd, uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  return epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void ReadinessSet::Remove(int fd) { epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr); }

int ReadinessSet::Wait(std::span<epoll_event> events, int timeout_ms) {
  return epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), timeout_ms);
}

void ReadinessSet::Stop() {
  const uint64_t one = 1;
  (void)!write(stop_fd_, &one, sizeof(one));
}

std::function<void()> ReadinessSet::Ringer() const {
  return [bell = bell_] {
    const uint64_t one = 1;
    (void)!write(bell->fd, &one, sizeof(one));
  };
}

void ReadinessSet::SilenceBell() {
  uint64_t rings;
  (void)!read(bell_->fd, &rings, sizeof(rings));
}

}  // namespace pitwall::collector
