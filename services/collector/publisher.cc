#include "services/collector/publisher.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/strings.h"

namespace pitwall::collector {
namespace {
// No log takes records beyond this without being told to: one that says "exhausted" to such a one
// means its size.
constexpr size_t kLargeRecord = 900'000;
}  // namespace

Publisher::Publisher(const PublisherOptions& options, Clock& clock, Appender* appender,
                     Counters* counters)
    : options_(options),
      clock_(clock),
      appender_(appender),
      counters_(counters),
      wakeup_(clock.NewWakeup()),
      append_records_(options.append_records) {}

Publisher::~Publisher() { Stop(); }

Status Publisher::Start() {
  {
    MutexLock lock(&mutex_);
    if (!options_.spool_dir.empty()) {
      auto spool = Spool::Open(options_.spool_dir, options_.spool_bytes, counters_);
      if (!spool.ok()) return spool.status();
      spool_ = *std::move(spool);
    }
  }
  thread_ = std::thread([this] { Loop(); });
  return OkStatus();
}

void Publisher::Offer(std::string key, std::string value) {
  PendingRecord record{std::move(key), std::move(value)};
  {
    MutexLock lock(&mutex_);
    counters_->batches.fetch_add(1, std::memory_order_relaxed);
    if (stopped_) {
      counters_->dropped_at_stop.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const bool full = queue_bytes_ + record.bytes() > options_.queue_bytes;
    Enqueue(std::move(record));
    if (spool_ != nullptr && (full || !spool_->empty())) Spill();
    DropBeyondBound();
  }
  wakeup_->Wake();
}

void Publisher::Enqueue(PendingRecord record) {
  queue_bytes_ += record.bytes();
  queue_.push_back(std::move(record));
}

bool Publisher::Spill() {
  if (!in_flight_.records.empty() && !in_flight_.from_spool && !in_flight_.spooled) {
    // The spool is empty here, or it would have been read first.
    if (Status status = spool_->Append(in_flight_.records, &in_flight_.end); !status.ok()) {
      SpoolFailed(status);
      return false;
    }
    in_flight_.spooled = true;
  }
  // In pieces, so that a disk that fills up half-way leaves the queue as it is from there on.
  while (!queue_.empty()) {
    std::vector<PendingRecord> piece;
    size_t bytes = 0;
    while (!queue_.empty() && bytes < options_.append_bytes) {
      bytes += queue_.front().bytes();
      piece.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    Spool::Position end;
    if (Status status = spool_->Append(piece, &end); !status.ok()) {
      queue_.insert(queue_.begin(), std::make_move_iterator(piece.begin()),
                    std::make_move_iterator(piece.end()));
      SpoolFailed(status);
      return false;
    }
    queue_bytes_ -= bytes;
  }
  disk_failed_ = false;
  return true;
}

void Publisher::SpoolFailed(const Status& status) {
  if (!disk_failed_) PITWALL_LOG(kError, "collector", "spool: ", ToStd(status.message()));
  disk_failed_ = true;
}

// Fills in_flight_; false when there is nothing to do.
bool Publisher::Take() {
  in_flight_ = {};
  if (spool_ != nullptr && !spool_->empty()) {
    in_flight_.from_spool = true;
    const Status status =
        spool_->Read(append_records_, options_.append_bytes, &in_flight_.records, &in_flight_.end);
    if (!status.ok()) SpoolFailed(status);
    if (in_flight_.records.empty() && status.ok())
      (void)spool_->Acknowledge(in_flight_.end);  // all damaged
    return true;
  }
  size_t bytes = 0;
  while (!queue_.empty() && in_flight_.records.size() < append_records_ &&
         (bytes == 0 || bytes + queue_.front().bytes() <= options_.append_bytes)) {
    bytes += queue_.front().bytes();
    in_flight_.records.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queue_bytes_ -= bytes;
  counters_->queue_bytes.store(queue_bytes_, std::memory_order_relaxed);
  return !in_flight_.records.empty();
}

void Publisher::Succeed() {
  size_t bytes = 0;
  for (const PendingRecord& record : in_flight_.records) bytes += record.bytes();
  counters_->records_published.fetch_add(in_flight_.records.size(), std::memory_order_relaxed);
  counters_->bytes_published.fetch_add(bytes, std::memory_order_relaxed);
  if (in_flight_.from_spool || in_flight_.spooled) {
    if (Status status = spool_->Acknowledge(in_flight_.end); !status.ok()) SpoolFailed(status);
  }
  in_flight_ = {};
  backoff_ns_ = 0;
  append_records_ = std::min(options_.append_records, 2 * append_records_);
  if (log_failed_) PITWALL_LOG(kInfo, "collector", "the log takes records again");
  log_failed_ = false;
}

void Publisher::Fail(const Status& status) {
  counters_->append_failures.fetch_add(1, std::memory_order_relaxed);
  if (!log_failed_) PITWALL_LOG(kWarning, "collector", "cannot publish: ", ToStd(status.message()));
  log_failed_ = true;
  const bool invalid = status.code() == absl::StatusCode::kInvalidArgument;
  const bool exhausted = status.code() == absl::StatusCode::kResourceExhausted;
  std::vector<PendingRecord>& records = in_flight_.records;
  if (records.size() == 1 && (invalid || (exhausted && records[0].bytes() > kLargeRecord))) {
    PITWALL_LOG(kError, "collector", "the log refuses a record of ", records[0].bytes(),
                " bytes of job ", Quote(records[0].key), ": ", ToStd(status.message()));
    counters_->dropped_refused.fetch_add(1, std::memory_order_relaxed);
    if (in_flight_.from_spool || in_flight_.spooled) (void)spool_->Acknowledge(in_flight_.end);
    in_flight_ = {};
    backoff_ns_ = 0;
    return;
  }
  // Of several, find out whether one is to blame: until something is taken, they go one by one.
  if (invalid || exhausted) append_records_ = 1;
  if (!in_flight_.from_spool && !in_flight_.spooled && spool_ != nullptr) Spill();
  if (!in_flight_.from_spool && !in_flight_.spooled) {
    // No spool, or its disk fails: back to the front of the queue.
    for (auto it = records.rbegin(); it != records.rend(); ++it) {
      queue_bytes_ += it->bytes();
      queue_.push_front(std::move(*it));
    }
    DropBeyondBound();
  }
  const bool at_once = invalid && records.size() > 1;
  in_flight_ = {};
  backoff_ns_ =
      at_once ? 0
              : std::clamp(2 * backoff_ns_, options_.first_backoff_ns, options_.last_backoff_ns);
}

void Publisher::DropBeyondBound() {
  while (queue_bytes_ > options_.queue_bytes && queue_.size() > 1) {
    queue_bytes_ -= queue_.front().bytes();
    queue_.pop_front();
    counters_->dropped_queue_full.fetch_add(1, std::memory_order_relaxed);
  }
  counters_->queue_bytes.store(queue_bytes_, std::memory_order_relaxed);
}

void Publisher::Loop() {
  while (true) {
    std::vector<OutgoingRecord> outgoing;
    {
      MutexLock lock(&mutex_);
      // A spool may be long: it waits for the next start rather than make this one's end wait.
      const bool leave_spool = stopping_ && spool_ != nullptr && !spool_->empty();
      if (leave_spool || !Take()) {
        if (stopping_) return Finish();
      } else {
        outgoing.reserve(in_flight_.records.size());
        for (const PendingRecord& record : in_flight_.records) {
          outgoing.push_back({options_.topic, kByKey, record.key, record.value, false, {}});
        }
        if (outgoing.empty())
          backoff_ns_ = options_.first_backoff_ns;  // the spool could not be read
      }
    }
    if (outgoing.empty()) {
      bool failing;
      {
        MutexLock lock(&mutex_);
        failing = backoff_ns_ > 0;
      }
      if (failing) {
        WaitBackoff();
      } else {
        wakeup_->Wait(-1);
      }
      continue;
    }
    const Status status = appender_->Append(std::move(outgoing));
    bool wait = false;
    {
      MutexLock lock(&mutex_);
      if (status.ok()) {
        Succeed();
      } else {
        Fail(status);
        wait = backoff_ns_ > 0;
        if (stopping_ && wait) return Finish();
        if (spool_ != nullptr && wait) {
          if (Status synced = spool_->Sync(); !synced.ok()) SpoolFailed(synced);
        }
      }
    }
    if (wait) WaitBackoff();
  }
}

// Nothing more will be published: what is left is on disk, or lost.
void Publisher::Finish() {
  stopped_ = true;
  if (spool_ != nullptr) {
    Spill();
    if (Status status = spool_->Sync(); !status.ok()) SpoolFailed(status);
  }
  if (queue_.empty()) return;
  counters_->dropped_at_stop.fetch_add(queue_.size(), std::memory_order_relaxed);
  PITWALL_LOG(kError, "collector", queue_.size(), " records could not be published and are lost");
  queue_.clear();
  queue_bytes_ = 0;
}

void Publisher::WaitBackoff() {
  int64_t until_ns;
  {
    MutexLock lock(&mutex_);
    until_ns = clock_.MonotonicNs() + backoff_ns_;
  }
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    const int64_t left_ns = until_ns - clock_.MonotonicNs();
    if (left_ns <= 0) return;
    wakeup_->Wait(left_ns);  // an Offer ends it early
  }
}

void Publisher::Stop() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  wakeup_->Wake();
  if (thread_.joinable()) thread_.join();
}

}  // namespace pitwall::collector
