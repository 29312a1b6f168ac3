// Reserve of file descriptors for reads that must succeed even when the process has run out of
// descriptors.
#pragma once

#include <vector>

#include "services/base/mutex.h"

namespace pitwall::collector {

// Thread-safe.
class DescriptorReserve {
 public:
  // Returns this process's reserve, which is filled on first use.
  static DescriptorReserve& OfProcess();

  explicit DescriptorReserve(size_t size) : size_(size) { Fill(); }
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // Closes a spare descriptor so that the next open succeeds. Returns false if the reserve is
  // empty.
  bool Lend();
  // Refills the reserve. Call this after closing the file that was opened after Lend.
  void TakeBack() { Fill(); }

 private:
  void Fill();

  const size_t size_;
  Mutex mutex_;
  std::vector<int> spares_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::collector
