#include "tests/fakes/fake_clock.h"

#include <condition_variable>
#include <limits>
#include <mutex>
#include <vector>

#include "services/base/check.h"
#include "services/base/mutex.h"

namespace pitwall::fakes {
namespace {
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
}  // namespace

struct FakeClock::State {
  struct Wait {
    int64_t deadline_ns = kNever;
    uint64_t number = 0;  // in start order
    bool ended = false;   // timed out or woken, but its thread has not resumed yet
    std::condition_variable changed;
  };

  mutable Mutex mutex;
  mutable std::condition_variable waiters_changed;
  int64_t wall_ns ABSL_GUARDED_BY(mutex) = 0;
  int64_t monotonic_ns ABSL_GUARDED_BY(mutex) = 0;
  uint64_t next_number ABSL_GUARDED_BY(mutex) = 0;
  std::vector<Wait*> waits ABSL_GUARDED_BY(mutex);  // in order of start

  // Waits on a condition with `mutex` held, as std requires. The annotations treat the mutex as
  // locked throughout.
  void Block(std::condition_variable& condition) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.native(), std::adopt_lock);
    condition.wait(lock);
    lock.release();
  }

  Wait* Earliest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Wait* found = nullptr;
    for (Wait* wait : waits) {
      if (wait->ended || wait->deadline_ns == kNever) continue;
      if (found == nullptr || wait->deadline_ns < found->deadline_ns) found = wait;
    }
    return found;
  }
};

namespace {

class FakeWakeup final : public Wakeup {
 public:
  explicit FakeWakeup(std::shared_ptr<FakeClock::State> state) : state_(std::move(state)) {}

  void Wake() override {
    MutexLock lock(&state_->mutex);
    woken_ = true;
    if (wait_ == nullptr) return;
    wait_->ended = true;
    wait_->changed.notify_one();
  }

  bool Wait(int64_t timeout_ns) override {
    FakeClock::State& s = *state_;
    MutexLock lock(&s.mutex);
    if (!woken_ && timeout_ns != 0) {
      FakeClock::State::Wait wait;
      wait.number = s.next_number++;
      if (timeout_ns > 0 && timeout_ns < kNever - s.monotonic_ns) {
        wait.deadline_ns = s.monotonic_ns + timeout_ns;
      }
      PITWALL_CHECK(wait_ == nullptr);  // a single waiting thread, as the contract requires
      wait_ = &wait;
      s.waits.push_back(&wait);
      s.waiters_changed.notify_all();
      while (!woken_ && !wait.ended) s.Block(wait.changed);
      std::erase(s.waits, &wait);
      wait_ = nullptr;
    }
    const bool woken = woken_;
    woken_ = false;
    return woken;
  }

 private:
  const std::shared_ptr<FakeClock::State> state_;
  // Both guarded by state_->mutex.
  bool woken_ = false;
  FakeClock::State::Wait* wait_ = nullptr;
};

}  // namespace

FakeClock::FakeClock(int64_t wall_ns, int64_t monotonic_ns) : state_(std::make_shared<State>()) {
  MutexLock lock(&state_->mutex);
  state_->wall_ns = wall_ns;
  state_->monotonic_ns = monotonic_ns;
}

FakeClock::~FakeClock() = default;

int64_t FakeClock::WallNs() const {
  MutexLock lock(&state_->mutex);
  return state_->wall_ns;
}

int64_t FakeClock::MonotonicNs() const {
  MutexLock lock(&state_->mutex);
  return state_->monotonic_ns;
}

std::unique_ptr<Wakeup> FakeClock::NewWakeup() { return std::make_unique<FakeWakeup>(state_); }

void FakeClock::Advance(int64_t ns) {
  PITWALL_CHECK(ns >= 0);
  State& s = *state_;
  MutexLock lock(&s.mutex);
  const int64_t target = s.monotonic_ns + ns;
  for (State::Wait* wait = s.Earliest(); wait != nullptr && wait->deadline_ns <= target;
       wait = s.Earliest()) {
    // A wait cannot start with a deadline in the past, because deadlines are relative to
    // monotonic_ns.
    s.wall_ns += wait->deadline_ns - s.monotonic_ns;
    s.monotonic_ns = wait->deadline_ns;
    wait->ended = true;
    wait->changed.notify_one();
  }
  s.wall_ns += target - s.monotonic_ns;
  s.monotonic_ns = target;
}

void FakeClock::SetWall(int64_t wall_ns) {
  MutexLock lock(&state_->mutex);
  state_->wall_ns = wall_ns;
}

size_t FakeClock::waiters() const {
  MutexLock lock(&state_->mutex);
  size_t count = 0;
  for (const State::Wait* wait : state_->waits) count += wait->ended ? 0 : 1;
  return count;
}

void FakeClock::AwaitWaiters(size_t count) const {
  MutexLock lock(&state_->mutex);
  for (;;) {
    size_t waiting = 0;
    for (const State::Wait* wait : state_->waits) waiting += wait->ended ? 0 : 1;
    if (waiting >= count) return;
    state_->Block(state_->waiters_changed);
  }
}

int64_t FakeClock::NextDeadline() const {
  MutexLock lock(&state_->mutex);
  const State::Wait* wait = state_->Earliest();
  return wait == nullptr ? -1 : wait->deadline_ns;
}

}  // namespace pitwall::fakes
