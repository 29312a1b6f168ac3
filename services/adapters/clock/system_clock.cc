#include "services/adapters/clock/system_clock.h"

#include <pthread.h>
#include <time.h>

#include <cerrno>

#include "services/base/check.h"
#include "services/base/mutex.h"

namespace pitwall::clock {
namespace {

int64_t ReadClock(clockid_t id) {
  timespec now{};
  PITWALL_CHECK(clock_gettime(id, &now) == 0);
  return int64_t{now.tv_sec} * kNanosPerSecond + now.tv_nsec;
}

// Uses a raw pthread condition on CLOCK_MONOTONIC. std::condition_variable::wait_for calls
// pthread_cond_clockwait, which GCC 12's ThreadSanitizer does not intercept, so it reports races in
// correct code.
class SystemWakeup final : public Wakeup {
 public:
  SystemWakeup() {
    pthread_condattr_t attributes;
    PITWALL_CHECK(pthread_condattr_init(&attributes) == 0);
    PITWALL_CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    PITWALL_CHECK(pthread_cond_init(&condition_, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
  }
  ~SystemWakeup() override { pthread_cond_destroy(&condition_); }
  SystemWakeup(const SystemWakeup&) = delete;
  SystemWakeup& operator=(const SystemWakeup&) = delete;

  void Wake() override {
    MutexLock lock(&mutex_);
    woken_ = true;
    pthread_cond_signal(&condition_);
  }

  bool Wait(int64_t timeout_ns) override {
    MutexLock lock(&mutex_);
    if (timeout_ns < 0) {
      while (!woken_) pthread_cond_wait(&condition_, mutex_.native().native_handle());
    } else if (!woken_ && timeout_ns > 0) {
      const timespec deadline = DeadlineAfter(timeout_ns);
      while (!woken_) {
        const int rc =
            pthread_cond_timedwait(&condition_, mutex_.native().native_handle(), &deadline);
        if (rc == ETIMEDOUT) break;
        PITWALL_CHECK(rc == 0);
      }
    }
    const bool woken = woken_;
    woken_ = false;
    return woken;
  }

 private:
  static timespec DeadlineAfter(int64_t timeout_ns) {
    // A century is effectively infinite, and the limit prevents the sum from overflowing.
    constexpr int64_t kLongest = int64_t{100} * 365 * 86'400 * kNanosPerSecond;
    const int64_t now = ReadClock(CLOCK_MONOTONIC);
    const int64_t at = now + (timeout_ns < kLongest ? timeout_ns : kLongest);
    timespec deadline{};
    deadline.tv_sec = static_cast<time_t>(at / kNanosPerSecond);
    deadline.tv_nsec = static_cast<long>(at % kNanosPerSecond);
    return deadline;
  }

  Mutex mutex_;
  pthread_cond_t condition_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

int64_t SystemClock::WallNs() const { return ReadClock(CLOCK_REALTIME); }
int64_t SystemClock::MonotonicNs() const { return ReadClock(CLOCK_MONOTONIC); }
std::unique_ptr<Wakeup> SystemClock::NewWakeup() { return std::make_unique<SystemWakeup>(); }

int64_t ThreadCpuNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace pitwall::clock
