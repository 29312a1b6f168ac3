#include "services/collector/files/descriptor_reserve.h"

#include <fcntl.h>
#include <unistd.h>

namespace pitwall::collector {
namespace {
constexpr size_t kSpares = 4;  // a few threads may read at the same time, one file each
}  // namespace

DescriptorReserve& DescriptorReserve::OfProcess() {
  static auto& reserve = *new DescriptorReserve(kSpares);
  return reserve;
}

DescriptorReserve::~DescriptorReserve() {
  MutexLock lock(&mutex_);
  for (const int fd : spares_) close(fd);
}

bool DescriptorReserve::Lend() {
  MutexLock lock(&mutex_);
  if (spares_.empty()) return false;
  close(spares_.back());
  spares_.pop_back();
  return true;
}

void DescriptorReserve::Fill() {
  MutexLock lock(&mutex_);
  while (spares_.size() < size_) {
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;  // the next call of TakeBack tries again
    spares_.push_back(fd);
  }
}

}  // namespace pitwall::collector
