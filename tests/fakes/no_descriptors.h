// Exhaustion of the process's file descriptors.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "services/base/check.h"

namespace pitwall::fakes {

// While an instance exists, opening a file fails with EMFILE, except for the number of opens that
// Free() allows. Only one instance may exist at a time.
class NoDescriptors {
 public:
  explicit NoDescriptors(rlim_t limit = 256) {
    PITWALL_CHECK(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit low = before_;
    low.rlim_cur = limit;
    PITWALL_CHECK(::setrlimit(RLIMIT_NOFILE, &low) == 0);
    for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
  }
  ~NoDescriptors() {
    Free(taken_.size());
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

  void Free(size_t count) {
    for (; count > 0 && !taken_.empty(); --count) {
      ::close(taken_.back());
      taken_.pop_back();
    }
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace pitwall::fakes
