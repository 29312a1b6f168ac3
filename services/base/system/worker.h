// Thread with a name, a stop flag, a wake-up, and a health.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/time.h"

namespace pitwall {

// Start and Stop must be called from the same thread, which is not the worker's thread. All other
// functions may be called from any thread. Wait and stopping are meant for the worker's thread.
//
// A class declares its Worker after all members that the thread uses, or calls Stop in its
// destructor.
class Worker {
 public:
  // `name` identifies the thread in `ps -L` and `top -H`, and has at most 15 characters. A worker
  // that never calls Wait needs no clock (null). The caller owns the clock.
  Worker(Clock* clock, std::string_view name);
  // Names the thread `prefix`-`number`, for example "ingest-3". Drops the last digits of a longer
  // name.
  Worker(Clock* clock, std::string_view prefix, int32_t number);
  ~Worker() { Stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Sets a function that unblocks the thread, for example PartitionReader::Interrupt. RequestStop
  // calls it, possibly more than once. Must be called before Start.
  void OnStop(std::function<void()> interrupt) { interrupt_ = std::move(interrupt); }
  // Runs `run` on a new thread. `run` must return soon after stopping() has become true. No effect
  // if the worker is running. A stopped worker can be started again.
  void Start(std::function<void()> run);
  // Sets the stop flag, and wakes and interrupts the thread.
  void RequestStop();
  // Requests the stop and waits for the thread. Idempotent.
  void Stop();
  // Returns whether Start was called after the last Stop. Must be called from the thread that calls
  // Start and Stop.
  bool started() const { return thread_.joinable(); }

  bool stopping() const { return stop_; }
  // Flag for functions that stop early. Valid as long as the worker.
  const std::atomic<bool>* stop_flag() const { return &stop_; }

  // Ends the current or the next Wait.
  void Wake() { wakeup_->Wake(); }
  // Wake-up for sources that notify the worker. Valid as long as the worker.
  Wakeup* wakeup() { return wakeup_.get(); }
  // Waits until Wake or RequestStop is called, or until the timeout has elapsed. A negative timeout
  // means no limit. Returns false if the worker must stop.
  bool Wait(int64_t timeout_ns);
  bool Wait(Duration timeout) { return Wait(timeout.ns()); }

  void SetHealth(Status health);
  Status Health() const;

 private:
  const std::string name_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::function<void()> interrupt_;
  std::atomic<bool> stop_{false};
  mutable Mutex mutex_;
  Status health_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace pitwall
