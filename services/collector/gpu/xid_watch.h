// XID errors of the node's GPUs as the driver reports them, heard by a thread of their own: they
// come just when other calls of the driver block.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/collector/gpu/nvml.h"
#include "services/collector/metrics/counters.h"

namespace pitwall::collector {

// Start and Stop from one thread; Now from any.
class XidWatch {
 public:
  struct Gpu {
    bool watched = false;                  // its errors can be heard
    std::map<std::string, uint64_t> seen;  // by code, since the start
  };

  // The clock and the counters are borrowed.
  XidWatch(Clock& clock, Counters* counters);
  ~XidWatch();

  // Watches the first `count` GPUs of the library, which is borrowed until Stop. Idempotent.
  void Start(const Nvml* nvml, uint32_t count);
  // Waits for the call that is under way: as long as the driver takes.
  void Stop();
  std::vector<Gpu> Now() const;
  // Errors by code that the driver attributes to none of the GPUs, as after one fell off the bus.
  std::map<std::string, uint64_t> Unattributed() const;

  // Codes beyond so many of one GPU are counted as one, "other".
  static constexpr size_t kMaxCodes = 64;

 private:
  enum class Over { kNeverPossible, kNoneRegistered, kFailed, kStopped };
  void Loop();
  // Watches until something is wrong. `*heard`: whether the driver answered at all.
  Over Watch(bool* heard);
  bool Register(Nvml::EventSet set);
  void Heard(const Nvml::Xid& xid);
  // Counts the error and returns whether its code is new.
  static bool Count(std::string* code, std::map<std::string, uint64_t>* seen);
  void SetAlive(int64_t now_ns);

  Clock& clock_;
  Counters* const counters_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> stopping_{false};
  const Nvml* nvml_ = nullptr;
  uint32_t count_ = 0;
  std::thread thread_;
  // The thread's own.
  struct Registered {
    Nvml::Device device = nullptr;  // null: not yet
    bool never = false;             // this GPU reports none
  };
  std::vector<Registered> devices_;
  bool complained_ = false;

  mutable Mutex mutex_;
  std::vector<Gpu> gpus_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> unattributed_ ABSL_GUARDED_BY(mutex_);
  int64_t alive_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // the driver's last answer, monotonic
};

}  // namespace pitwall::collector
