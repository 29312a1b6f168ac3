#include "services/collector/publishing/publisher.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {
// Maximum duration of an append that may block other lanes.
constexpr int64_t kStuckNs = 200 * kNanosPerMilli;
// If an append takes longer than this, new records go directly to the spool.
constexpr int64_t kSlowAppendNs = kNanosPerSecond;
constexpr int64_t kForgetLaneNs = 60 * kNanosPerSecond;
constexpr int64_t kEndThreadNs = 10 * kNanosPerSecond;
}  // namespace

Publisher::Publisher(const PublisherOptions& options, Clock& clock, Appender* appender,
                     Counters* counters, ClientCursors* cursors)
    : options_(options),
      clock_(clock),
      appender_(appender),
      counters_(counters),
      cursors_(cursors) {}

Publisher::~Publisher() { Stop(); }

Status Publisher::Start() {
  MutexLock lock(&mutex_);
  if (!options_.spool_dir.empty()) {
    ASSIGN_OR_RETURN(spools_,
                     SpoolSet::Open(options_.spool_dir, options_.spool_bytes, counters_, cursors_));
    for (uint64_t number : spools_->Lanes()) LaneFor(number);
  }
  return AddWorker(false);
}

Status Publisher::AddWorker(bool extra) {
  workers_.emplace_back();
  Worker* worker = &workers_.back();
  worker->wakeup = clock_.NewWakeup();
  try {
    worker->thread = std::thread([this, worker, extra] { Loop(worker, extra); });
  } catch (const std::system_error& error) {
    workers_.pop_back();
    return ResourceExhausted(Cat("publisher: cannot start a thread (", error.what(), ")"));
  }
  return OkStatus();
}

Publisher::Lane* Publisher::LaneFor(uint64_t number) {
  std::unique_ptr<Lane>& lane = lanes_[number];
  if (lane == nullptr) {
    lane = std::make_unique<Lane>();
    lane->number = number;
    lane->append_records = options_.append_records;
    lane->since_ns = clock_.MonotonicNs();
  }
  return lane.get();
}

Spool* Publisher::SpoolOf(const Lane& lane) {
  return spools_ == nullptr ? nullptr : spools_->Find(lane.number);
}

bool Publisher::HasWork(const Lane& lane) {
  if (!lane.queue.empty()) return true;
  const Spool* spool = SpoolOf(lane);
  return spool != nullptr && !spool->empty();
}

void Publisher::Count(Lane* lane, int64_t queue_bytes) {
  lane->queue_bytes += static_cast<size_t>(queue_bytes);
  queue_bytes_ += static_cast<size_t>(queue_bytes);
  counters_->queue_bytes.store(queue_bytes_, std::memory_order_relaxed);
}

Publisher::Lane* Publisher::Largest() {
  const auto most = std::max_element(
      lanes_.begin(), lanes_.end(),
      [](const auto& a, const auto& b) { return a.second->queue_bytes < b.second->queue_bytes; });
  return most == lanes_.end() ? nullptr : most->second.get();
}

void Publisher::Offer(std::string key, std::string value, std::string note) {
  PendingRecord record{std::move(key), std::move(value), std::move(note)};
  MutexLock lock(&mutex_);
  counters_->batches.fetch_add(1, std::memory_order_relaxed);
  if (stopped_) {
    counters_->dropped_at_stop.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Lane* lane = LaneFor(LaneOf(record.key));
  Count(lane, static_cast<int64_t>(record.bytes()));
  lane->queue.push_back(std::move(record));
  if (spools_ != nullptr) {
    const bool slow = lane->busy && clock_.MonotonicNs() - lane->since_ns >= kSlowAppendNs;
    if (lane->log_failed || slow) {
      counters_->records_spooled.fetch_add(lane->queue.size(), std::memory_order_relaxed);
      Spill(lane);
    }
    if (queue_bytes_ > options_.queue_bytes) {
      Lane* largest = Largest();
      counters_->records_spooled.fetch_add(largest->queue.size(), std::memory_order_relaxed);
      Spill(largest);
    }
  }
  DropBeyondBound();
  WakeOne();
}

void Publisher::WakeOne() {
  for (Worker& worker : workers_) {
    if (!worker.idle) continue;
    worker.idle = false;
    worker.wakeup->Wake();
    return;
  }
  // All workers are busy. A worker is added if one of them is stuck and a lane is due.
  const int64_t now_ns = clock_.MonotonicNs();
  bool stuck = false;
  bool due = false;
  for (const auto& [number, lane] : lanes_) {
    stuck |= lane->busy && now_ns - lane->since_ns >= kStuckNs;
    due |= !lane->busy && lane->ready_ns <= now_ns && HasWork(*lane);
  }
  if (!stuck || !due || stopping_) return;
  for (auto it = workers_.begin(); it != workers_.end();) {
    if (it->ended) {
      it->thread.join();
      it = workers_.erase(it);
    } else {
      ++it;
    }
  }
  if (workers_.size() >= options_.most_threads) return;
  const Status status = AddWorker(true);
  if (!status.ok() && !thread_failed_)
    PITWALL_LOG(kError, "collector", ToStd(status.message()),
                "; healthy jobs may be delayed by others");
  thread_failed_ = !status.ok();
}

bool Publisher::Spill(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  if (!in_flight.records.empty() && !in_flight.from_spool && !in_flight.spooled) {
    // The spool is empty at this point, because otherwise Take would have read from the spool
    // first.
    if (Status status = spools_->Append(lane->number, in_flight.records, &in_flight.end);
        !status.ok()) {
      SpoolFailed(status);
      return false;
    }
    in_flight.spooled = true;
  }
  // The queue is spooled in chunks. If the disk fills up, the remaining records stay in the queue.
  while (!lane->queue.empty()) {
    std::vector<PendingRecord> piece;
    size_t bytes = 0;
    while (!lane->queue.empty() && bytes < options_.append_bytes) {
      bytes += lane->queue.front().bytes();
      piece.push_back(std::move(lane->queue.front()));
      lane->queue.pop_front();
    }
    Spool::Position end;
    if (Status status = spools_->Append(lane->number, piece, &end); !status.ok()) {
      lane->queue.insert(lane->queue.begin(), std::make_move_iterator(piece.begin()),
                         std::make_move_iterator(piece.end()));
      SpoolFailed(status);
      return false;
    }
    Count(lane, -static_cast<int64_t>(bytes));
  }
  disk_failed_ = false;
  return true;
}

void Publisher::SpoolFailed(const Status& status) {
  if (!disk_failed_) PITWALL_LOG(kError, "collector", "spool: ", ToStd(status.message()));
  disk_failed_ = true;
}

// Fills `in_flight` from the spool or the queue.
void Publisher::Take(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  in_flight = {};
  Spool* spool = SpoolOf(*lane);
  if (spool != nullptr && !spool->empty()) {
    Spill(lane);
    in_flight.from_spool = true;
    const Status status = spool->Read(lane->append_records, options_.append_bytes,
                                      &in_flight.records, &in_flight.end);
    if (!status.ok()) SpoolFailed(status);
    if (in_flight.records.empty() && status.ok())
      (void)spool->Acknowledge(in_flight.end);  // all records are damaged
    if (!status.ok() && in_flight.records.empty()) lane->backoff_ns = options_.first_backoff_ns;
    return;
  }
  size_t bytes = 0;
  while (!lane->queue.empty() && in_flight.records.size() < lane->append_records &&
         (bytes == 0 || bytes + lane->queue.front().bytes() <= options_.append_bytes)) {
    bytes += lane->queue.front().bytes();
    in_flight.records.push_back(std::move(lane->queue.front()));
    lane->queue.pop_front();
  }
  Count(lane, -static_cast<int64_t>(bytes));
  if (spools_ == nullptr || in_flight.records.empty()) return;
  // The records are written to disk before the log receives them, so that they still exist after a
  // kill.
  if (Status status = spools_->Append(lane->number, in_flight.records, &in_flight.end);
      status.ok()) {
    in_flight.spooled = true;
    disk_failed_ = false;
  } else {
    SpoolFailed(status);
  }
}

Status Publisher::Health() {
  MutexLock lock(&mutex_);
  if (disk_failed_) return Unavailable("the spool cannot be written; see the log");
  const int64_t now_ns = clock_.MonotonicNs();
  size_t failing = 0;
  std::string failure;
  for (const auto& [number, lane] : lanes_) {
    const bool hangs = lane->busy && now_ns - lane->since_ns >= kUnhealthyNs;
    const bool fails = lane->log_failed && now_ns - lane->failing_since_ns >= kUnhealthyNs;
    if (!hangs && !fails) continue;
    ++failing;
    failure = fails ? lane->failure : "the log does not respond";
  }
  if (failing == 0 && refused_ns_ >= 0 && now_ns - refused_ns_ < kShowRefusedNs)
    return Unavailable(
        Cat("the log permanently rejected a record, which was dropped (", refusal_, ")"));
  if (failing == 0) return OkStatus();
  return Unavailable(Cat("records of ", failing, failing == 1 ? " lane" : " lanes",
                         " cannot be published (", failure, ")"));
}

void Publisher::Succeed(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  size_t bytes = 0;
  for (const PendingRecord& record : in_flight.records) bytes += record.bytes();
  counters_->records_published.fetch_add(in_flight.records.size(), std::memory_order_relaxed);
  counters_->bytes_published.fetch_add(bytes, std::memory_order_relaxed);
  if (in_flight.from_spool || in_flight.spooled) {
    if (Status status = SpoolOf(*lane)->Acknowledge(in_flight.end); !status.ok())
      SpoolFailed(status);
  } else {
    for (const PendingRecord& record : in_flight.records) cursors_->Advance(record.note);
  }
  if (lane->log_failed) {
    PITWALL_LOG(kInfo, "collector", "the log accepts records of job ",
                Quote(in_flight.records.empty() ? "" : in_flight.records[0].key), " again");
    counters_->lanes_failing.fetch_sub(1, std::memory_order_relaxed);
  }
  in_flight = {};
  lane->backoff_ns = 0;
  lane->append_records = std::min(options_.append_records, 2 * lane->append_records);
  lane->log_failed = false;
}

// Drops a record that the log will never accept, so that the rest of the lane can proceed.
void Publisher::DropRefused(Lane* lane, const Status& status) {
  InFlight& in_flight = lane->in_flight;
  const PendingRecord& record = in_flight.records[0];
  refusal_ = ToStd(status.message());
  refused_ns_ = clock_.MonotonicNs();
  PITWALL_LOG(kError, "collector", "dropped a record of job ", Quote(record.key), " (",
              record.bytes(), " bytes) that the log rejected: ", refusal_);
  counters_->append_failures.fetch_add(1, std::memory_order_relaxed);
  counters_->dropped_refused.fetch_add(1, std::memory_order_relaxed);
  if (in_flight.from_spool || in_flight.spooled) {
    if (Status done = SpoolOf(*lane)->Acknowledge(in_flight.end); !done.ok()) SpoolFailed(done);
  }
  if (lane->log_failed) counters_->lanes_failing.fetch_sub(1, std::memory_order_relaxed);
  lane->log_failed = false;
  lane->backoff_ns = 0;
  in_flight = {};
}

void Publisher::Fail(Lane* lane, const Status& status) {
  InFlight& in_flight = lane->in_flight;
  std::vector<PendingRecord>& records = in_flight.records;
  const bool refused = absl::IsInvalidArgument(status);
  if (refused && records.size() == 1) return DropRefused(lane, status);
  counters_->append_failures.fetch_add(1, std::memory_order_relaxed);
  if (!lane->log_failed) {
    PITWALL_LOG(kWarning, "collector", "cannot publish records of job ", Quote(records[0].key),
                ": ", ToStd(status.message()));
    counters_->lanes_failing.fetch_add(1, std::memory_order_relaxed);
    lane->failing_since_ns = clock_.MonotonicNs();
  }
  lane->log_failed = true;
  lane->failure = ToStd(status.message());
  // After a rejection, records are appended one at a time until an append succeeds, to find the
  // rejected record.
  if (refused) lane->append_records = 1;
  if (!in_flight.from_spool)
    counters_->records_spooled.fetch_add(records.size(), std::memory_order_relaxed);
  if (!in_flight.from_spool && spools_ != nullptr) Spill(lane);
  if (!in_flight.from_spool && !in_flight.spooled) {
    // If there is no spool or its disk fails, the records return to the front of the queue.
    for (auto it = records.rbegin(); it != records.rend(); ++it) {
      Count(lane, static_cast<int64_t>(it->bytes()));
      lane->queue.push_front(std::move(*it));
    }
    DropBeyondBound();
  }
  const bool at_once = refused;  // a rejection means that the log works
  in_flight = {};
  lane->backoff_ns = at_once ? 0
                             : std::clamp(2 * lane->backoff_ns, options_.first_backoff_ns,
                                          options_.last_backoff_ns);
  if (spools_ != nullptr && lane->backoff_ns > 0) {
    if (Status synced = spools_->Sync(); !synced.ok()) SpoolFailed(synced);
  }
}

void Publisher::DropBeyondBound() {
  while (queue_bytes_ > options_.queue_bytes) {
    Lane* lane = Largest();
    if (lane->queue.size() < 2) return;
    Count(lane, -static_cast<int64_t>(lane->queue.front().bytes()));
    lane->queue.pop_front();
    counters_->dropped_queue_full.fetch_add(1, std::memory_order_relaxed);
  }
}

Publisher::Lane* Publisher::Next(int64_t* wait_ns) {
  const int64_t now_ns = clock_.MonotonicNs();
  *wait_ns = -1;
  Lane* next = nullptr;
  for (const auto& [number, lane] : lanes_) {
    if (lane->busy || !HasWork(*lane)) continue;
    if (stopping_) {
      // A spool can be long. The next start publishes it, so that this stop is not delayed.
      const Spool* spool = SpoolOf(*lane);
      if (lane->backoff_ns > 0 || (spool != nullptr && !spool->empty())) continue;
    }
    if (lane->ready_ns > now_ns) {
      const int64_t left_ns = lane->ready_ns - now_ns;
      *wait_ns = *wait_ns < 0 ? left_ns : std::min(*wait_ns, left_ns);
    } else if (next == nullptr || lane->served < next->served) {
      next = lane.get();
    }
  }
  return next;
}

void Publisher::Loop(Worker* self, bool extra) {
  bool waited = false;
  while (true) {
    int64_t wait_ns = -1;
    Lane* lane = nullptr;
    {
      MutexLock lock(&mutex_);
      self->idle = false;
      lane = Next(&wait_ns);
      if (lane == nullptr && (stopping_ || (extra && waited))) {
        self->ended = true;
        return;
      }
      if (lane != nullptr) {
        lane->busy = true;
        lane->since_ns = clock_.MonotonicNs();
        lane->served = ++turn_;
      } else {
        ForgetIdle(clock_.MonotonicNs());
        self->idle = true;
      }
    }
    if (lane != nullptr) {
      waited = false;
      Serve(lane);
      continue;
    }
    if (extra) wait_ns = wait_ns < 0 ? kEndThreadNs : std::min(wait_ns, kEndThreadNs);
    waited = !self->wakeup->Wait(wait_ns) && wait_ns == kEndThreadNs;
  }
}

void Publisher::Serve(Lane* lane) {
  std::vector<OutgoingRecord> outgoing;
  {
    MutexLock lock(&mutex_);
    Take(lane);
    outgoing.reserve(lane->in_flight.records.size());
    for (const PendingRecord& record : lane->in_flight.records)
      outgoing.push_back({options_.topic, kByKey, record.key, record.value, false, {}});
  }
  const bool some = !outgoing.empty();
  const Status status = some ? appender_->Append(std::move(outgoing)) : OkStatus();
  MutexLock lock(&mutex_);
  if (some && status.ok()) Succeed(lane);
  if (!status.ok()) Fail(lane, status);
  lane->in_flight = {};
  lane->busy = false;
  lane->since_ns = clock_.MonotonicNs();
  lane->ready_ns = lane->since_ns + lane->backoff_ns;
}

// Removes lanes without recent records, so that files and memory are limited to active jobs.
void Publisher::ForgetIdle(int64_t now_ns) {
  if (now_ns - swept_ns_ < kForgetLaneNs) return;
  swept_ns_ = now_ns;
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    const Lane& lane = *it->second;
    if (lane.busy || HasWork(lane) || now_ns - lane.since_ns < kForgetLaneNs) {
      ++it;
      continue;
    }
    if (lane.log_failed) counters_->lanes_failing.fetch_sub(1, std::memory_order_relaxed);
    if (spools_ != nullptr) {
      if (Status status = spools_->Remove(lane.number); !status.ok()) SpoolFailed(status);
    }
    it = lanes_.erase(it);
  }
}

// The remaining records are spooled once publishing has ended. Records that cannot be spooled are
// lost.
void Publisher::Finish() {
  if (spools_ != nullptr) {
    for (const auto& [number, lane] : lanes_) Spill(lane.get());
    if (Status status = spools_->Sync(); !status.ok()) SpoolFailed(status);
    spools_->Finish();
  }
  size_t lost = 0;
  for (const auto& [number, lane] : lanes_) lost += lane->queue.size();
  lanes_.clear();
  queue_bytes_ = 0;
  if (lost == 0) return;
  counters_->dropped_at_stop.fetch_add(lost, std::memory_order_relaxed);
  PITWALL_LOG(kError, "collector", lost, " records could not be published and are lost");
}

void Publisher::Stop() {
  std::list<Worker>* workers = nullptr;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    for (Worker& worker : workers_) worker.wakeup->Wake();
    workers = &workers_;  // workers_ does not change from here on
  }
  for (Worker& worker : *workers) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  MutexLock lock(&mutex_);
  if (!stopped_) Finish();
  stopped_ = true;
  workers_.clear();
}

}  // namespace pitwall::collector
