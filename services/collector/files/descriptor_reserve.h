// Reserve of file descriptors for reads that must not fail when the process has run out of them.
#pragma once

#include <vector>

#include "services/base/mutex.h"

namespace pitwall::collector {

// Thread-safe.
class DescriptorReserve {
 public:
  // Returns the reserve of this process, which is filled at its first use.
  static DescriptorReserve& OfProcess();

  explicit DescriptorReserve(size_t size) : size_(size) { Fill(); }
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // Closes a spare descriptor, so that the following open succeeds. Returns false if the reserve is
  // empty.
  bool Lend();
  // Refills the reserve after the file opened after Lend has been closed.
  void TakeBack() { Fill(); }

 private:
  void Fill();

  const size_t size_;
  Mutex mutex_;
  std::vector<int> spares_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::collector
