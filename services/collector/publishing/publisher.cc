#include "services/collector/publishing/publisher.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

constexpr int64_t kEndThreadNs = 10 * kNanosPerSecond;

}  // namespace

Publisher::Publisher(const PublisherOptions& options, Clock& clock, Appender* appender,
                     Counters* counters, ClientCursors* cursors)
    : most_threads_(options.most_threads),
      clock_(clock),
      appender_(appender),
      counters_(counters),
      cursors_(cursors),
      lanes_(options, clock, counters, cursors) {}

Publisher::~Publisher() { Stop(); }

Status Publisher::Start() {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(lanes_.Open());
  return AddThread(false);
}

Status Publisher::AddThread(bool extra) {
  threads_.emplace_back(&clock_);
  Thread* const thread = &threads_.back();
  try {
    thread->worker.Start([this, thread, extra] { Loop(thread, extra); });
  } catch (const std::system_error& error) {
    threads_.pop_back();
    return ResourceExhausted(Cat("publisher: cannot start a thread (", error.what(), ")"));
  }
  return OkStatus();
}

void Publisher::Offer(std::string key, std::string value, std::string note) {
  PendingRecord record{std::move(key), std::move(value), std::move(note)};
  MutexLock lock(&mutex_);
  counters_->batches.fetch_add(1, std::memory_order_relaxed);
  if (stopped_) {
    counters_->dropped_at_stop.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  lanes_.Add(std::move(record));
  WakeOne();
}

void Publisher::WakeOne() {
  for (Thread& thread : threads_) {
    if (!thread.idle) continue;
    thread.idle = false;
    thread.worker.Wake();
    return;
  }
  // All threads are busy. Another thread is added if one is stuck and a lane is due.
  if (stopping_ || !lanes_.NeedsThread()) return;
  std::erase_if(threads_, [](const Thread& thread) { return thread.ended; });
  if (threads_.size() >= most_threads_) return;
  const Status status = AddThread(true);
  if (!status.ok() && !thread_failed_)
    PITWALL_LOG(kError, "collector", ToStd(status.message()),
                "; slow appends may delay other jobs");
  thread_failed_ = !status.ok();
}

Status Publisher::Health() {
  MutexLock lock(&mutex_);
  return lanes_.Health();
}

void Publisher::Loop(Thread* self, bool extra) {
  bool waited = false;
  while (true) {
    int64_t wait_ns = -1;
    PublishingLanes::Lane* lane = nullptr;
    {
      MutexLock lock(&mutex_);
      self->idle = false;
      lane = lanes_.Begin(stopping_, &wait_ns);
      if (lane == nullptr && (stopping_ || (extra && waited))) {
        self->ended = true;
        return;
      }
      if (lane == nullptr) {
        lanes_.ForgetIdle();
        self->idle = true;
      }
    }
    if (lane != nullptr) {
      waited = false;
      Serve(lane);
      continue;
    }
    if (extra) wait_ns = wait_ns < 0 ? kEndThreadNs : std::min(wait_ns, kEndThreadNs);
    waited = !self->worker.wakeup()->Wait(wait_ns) && wait_ns == kEndThreadNs;
  }
}

void Publisher::Serve(PublishingLanes::Lane* lane) {
  std::vector<OutgoingRecord> outgoing;
  {
    MutexLock lock(&mutex_);
    outgoing = lanes_.Take(lane);
  }
  const Status status = outgoing.empty() ? OkStatus() : appender_->Append(std::move(outgoing));
  MutexLock lock(&mutex_);
  lanes_.End(lane, status);
}

void Publisher::Stop() {
  std::list<Thread>* threads = nullptr;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    for (Thread& thread : threads_) thread.worker.RequestStop();
    threads = &threads_;  // threads_ does not change from here on
  }
  for (Thread& thread : *threads) thread.worker.Stop();
  MutexLock lock(&mutex_);
  if (!stopped_) lanes_.Finish();
  stopped_ = true;
  threads_.clear();
}

}  // namespace pitwall::collector
