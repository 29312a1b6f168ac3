// XID errors of the node's GPUs, as reported by the driver. A separate thread waits for XID errors,
// because they can occur while other driver calls are blocked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/worker.h"
#include "services/collector/gpu/nvml.h"
#include "services/collector/metrics/counters.h"

namespace pitwall::collector {

// Start and Stop must be called from the same thread; Now is thread-safe.
class XidWatch {
 public:
  struct Gpu {
    bool watched = false;                  // whether the driver reports the GPU's errors
    std::map<std::string, uint64_t> seen;  // number of errors by code, since Start
  };

  // The caller owns the clock and the counters.
  XidWatch(Clock& clock, Counters* counters);

  // Starts watching the first `count` GPUs of the library. The library must stay valid until Stop.
  // Idempotent.
  void Start(const Nvml* nvml, uint32_t count);
  // Stops the thread. Waits for the current call, which takes as long as the driver blocks.
  void Stop() { worker_.Stop(); }
  std::vector<Gpu> Now() const;
  // Returns the errors, by code, that the driver does not attribute to a GPU, for example after a
  // GPU has fallen off the bus.
  std::map<std::string, uint64_t> Unattributed() const;

  // Maximum number of codes per GPU. Further codes are counted as "other".
  static constexpr size_t kMaxCodes = 64;

 private:
  enum class Over { kNeverPossible, kNoneRegistered, kFailed, kStopped };
  void Loop();
  // Watches until an error occurs. Sets `*responded` if the driver has responded.
  Over Watch(bool* responded);
  bool Register(Nvml::EventSet set);
  void OnXid(const Nvml::Xid& xid);
  // Counts the error. Returns true if its code is new.
  static bool Count(std::string* code, std::map<std::string, uint64_t>* seen);
  void SetAlive(int64_t now_ns);

  Clock& clock_;
  Counters* const counters_;
  const Nvml* nvml_ = nullptr;
  uint32_t count_ = 0;
  // Used only by the watch's thread.
  struct Registered {
    Nvml::Device device = nullptr;  // null if not registered yet
    bool never = false;             // true if this GPU cannot report errors
  };
  std::vector<Registered> devices_;
  bool complained_ = false;

  mutable Mutex mutex_;
  std::vector<Gpu> gpus_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> unattributed_ ABSL_GUARDED_BY(mutex_);
  int64_t alive_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // monotonic time of the driver's last response

  Worker worker_;
};

}  // namespace pitwall::collector
