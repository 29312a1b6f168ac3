// Spare file descriptors for reads that must not fail when the process has run out of them.
#pragma once

#include <vector>

#include "services/base/mutex.h"

namespace pitwall::collector {

// Thread-safe.
class DescriptorReserve {
 public:
  // The reserve of this process, filled at its first use.
  static DescriptorReserve& OfProcess();

  explicit DescriptorReserve(size_t size) : size_(size) { Fill(); }
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // Closes a spare, so that the open that follows finds a descriptor. False: no spare is left.
  bool Lend();
  // The file opened after Lend is closed.
  void TakeBack() { Fill(); }

 private:
  void Fill();

  const size_t size_;
  Mutex mutex_;
  std::vector<int> spares_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::collector
