#include "services/collector/publishing/publishing_lanes.h"

#include <algorithm>
#include <deque>
#include <iterator>
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

}  // namespace

struct PublishingLanes::InFlight {
  std::vector<PendingRecord> records;
  bool from_spool = false;
  bool spooled = false;  // whether the records are also in the spool, up to `end`
  Spool::Position end;
  // Returns whether the records are in the spool.
  bool OnDisk() const { return from_spool || spooled; }
};

struct PublishingLanes::Lane {
  uint64_t number = 0;
  std::deque<PendingRecord> queue;
  size_t queue_bytes = 0;
  InFlight in_flight;
  bool busy = false;     // whether a worker is serving the lane
  int64_t since_ns = 0;  // monotonic time at which the lane last became busy or idle
  int64_t ready_ns = 0;  // earliest time of the next append
  int64_t backoff_ns = 0;
  size_t append_records = 0;  // 1 during the search for a rejected record
  uint64_t served = 0;        // turn in which it was last served; the longest-waiting is next
  bool log_failed = false;
  int64_t failing_since_ns = 0;  // monotonic; valid while log_failed
  std::string failure;           // last error; valid while log_failed
};

PublishingLanes::PublishingLanes(const PublisherOptions& options, const Clock& clock,
                                 Counters* counters, ClientCursors* cursors)
    : options_(options), clock_(clock), counters_(counters), cursors_(cursors) {}

PublishingLanes::~PublishingLanes() = default;

Status PublishingLanes::Open() {
  if (options_.spool_dir.empty()) return OkStatus();
  RETURN_IF_ERROR(spools_.Open(options_.spool_dir, options_.spool_bytes, counters_, cursors_));
  for (uint64_t number : spools_.Lanes()) LaneFor(number);
  return OkStatus();
}

PublishingLanes::Lane* PublishingLanes::LaneFor(uint64_t number) {
  std::unique_ptr<Lane>& lane = lanes_[number];
  if (lane == nullptr) {
    lane = std::make_unique<Lane>();
    lane->number = number;
    lane->append_records = options_.append_records;
    lane->since_ns = clock_.MonotonicNs();
  }
  return lane.get();
}

bool PublishingLanes::HasWork(const Lane& lane) {
  return !lane.queue.empty() || !spools_.Empty(lane.number);
}

void PublishingLanes::Count(Lane* lane, int64_t queue_bytes) {
  lane->queue_bytes += static_cast<size_t>(queue_bytes);
  queue_bytes_ += static_cast<size_t>(queue_bytes);
  counters_->queue_bytes.store(queue_bytes_, std::memory_order_relaxed);
}

PublishingLanes::Lane* PublishingLanes::Largest() {
  const auto most = std::max_element(
      lanes_.begin(), lanes_.end(),
      [](const auto& a, const auto& b) { return a.second->queue_bytes < b.second->queue_bytes; });
  return most == lanes_.end() ? nullptr : most->second.get();
}

void PublishingLanes::Add(PendingRecord record) {
  Lane* lane = LaneFor(LaneOf(record.key));
  Count(lane, static_cast<int64_t>(record.bytes()));
  lane->queue.push_back(std::move(record));
  if (spools_.open()) {
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
}

bool PublishingLanes::NeedsThread() {
  const int64_t now_ns = clock_.MonotonicNs();
  bool stuck = false;
  bool due = false;
  for (const auto& [number, lane] : lanes_) {
    stuck |= lane->busy && now_ns - lane->since_ns >= kStuckNs;
    due |= !lane->busy && lane->ready_ns <= now_ns && HasWork(*lane);
  }
  return stuck && due;
}

void PublishingLanes::Spill(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  if (!in_flight.records.empty() && !in_flight.OnDisk()) {
    // The spool must be empty, because otherwise Take would have read from the spool first.
    if (!spools_.Append(lane->number, in_flight.records, &in_flight.end)) return;
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
    if (!spools_.Append(lane->number, piece, &end)) {
      lane->queue.insert(lane->queue.begin(), std::make_move_iterator(piece.begin()),
                         std::make_move_iterator(piece.end()));
      return;
    }
    Count(lane, -static_cast<int64_t>(bytes));
  }
  spools_.ClearFailure();
}

std::vector<OutgoingRecord> PublishingLanes::Take(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  in_flight = {};
  if (spools_.Empty(lane->number)) {
    TakeFromQueue(lane);
  } else {
    TakeFromSpool(lane);
  }
  std::vector<OutgoingRecord> outgoing;
  outgoing.reserve(in_flight.records.size());
  for (const PendingRecord& record : in_flight.records)
    outgoing.push_back({options_.topic, kByKey, record.key, record.value, false, {}});
  return outgoing;
}

void PublishingLanes::TakeFromSpool(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  Spill(lane);
  in_flight.from_spool = true;
  const bool read = spools_.Read(lane->number, lane->append_records, options_.append_bytes,
                                 &in_flight.records, &in_flight.end);
  if (!read && in_flight.records.empty()) lane->backoff_ns = options_.first_backoff_ns;
}

void PublishingLanes::TakeFromQueue(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  size_t bytes = 0;
  while (!lane->queue.empty() && in_flight.records.size() < lane->append_records &&
         (bytes == 0 || bytes + lane->queue.front().bytes() <= options_.append_bytes)) {
    bytes += lane->queue.front().bytes();
    in_flight.records.push_back(std::move(lane->queue.front()));
    lane->queue.pop_front();
  }
  Count(lane, -static_cast<int64_t>(bytes));
  if (!spools_.open() || in_flight.records.empty()) return;
  // The records are written to disk before the log receives them, so that they survive a kill.
  if (!spools_.Append(lane->number, in_flight.records, &in_flight.end)) return;
  in_flight.spooled = true;
  spools_.ClearFailure();
}

Status PublishingLanes::Health() const {
  if (spools_.failed()) return Unavailable("the spool cannot be written; see the collector's log");
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
  return Unavailable(Cat("records in ", failing, failing == 1 ? " lane" : " lanes",
                         " cannot be published (", failure, ")"));
}

void PublishingLanes::Succeed(Lane* lane) {
  InFlight& in_flight = lane->in_flight;
  size_t bytes = 0;
  for (const PendingRecord& record : in_flight.records) bytes += record.bytes();
  counters_->records_published.fetch_add(in_flight.records.size(), std::memory_order_relaxed);
  counters_->bytes_published.fetch_add(bytes, std::memory_order_relaxed);
  if (in_flight.OnDisk()) {
    spools_.Acknowledge(lane->number, in_flight.end);
  } else {
    for (const PendingRecord& record : in_flight.records) cursors_->Advance(record.note);
  }
  if (lane->log_failed) {
    PITWALL_LOG(kInfo, "collector", "publishing resumed for job ",
                Quote(in_flight.records.empty() ? "" : in_flight.records[0].key));
    counters_->lanes_failing.fetch_sub(1, std::memory_order_relaxed);
  }
  in_flight = {};
  lane->backoff_ns = 0;
  lane->append_records = std::min(options_.append_records, 2 * lane->append_records);
  lane->log_failed = false;
}

// Drops a record that the log will never accept, so that the rest of the lane can proceed.
void PublishingLanes::DropRefused(Lane* lane, const Status& status) {
  InFlight& in_flight = lane->in_flight;
  const PendingRecord& record = in_flight.records[0];
  refusal_ = ToStd(status.message());
  refused_ns_ = clock_.MonotonicNs();
  PITWALL_LOG(kError, "collector", "dropped a record of job ", Quote(record.key), " (",
              record.bytes(), " bytes) that the log rejected: ", refusal_);
  counters_->append_failures.fetch_add(1, std::memory_order_relaxed);
  counters_->dropped_refused.fetch_add(1, std::memory_order_relaxed);
  if (in_flight.OnDisk()) spools_.Acknowledge(lane->number, in_flight.end);
  if (lane->log_failed) counters_->lanes_failing.fetch_sub(1, std::memory_order_relaxed);
  lane->log_failed = false;
  lane->backoff_ns = 0;
  in_flight = {};
}

void PublishingLanes::Fail(Lane* lane, const Status& status) {
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
  if (!in_flight.from_spool && spools_.open()) Spill(lane);
  if (!in_flight.OnDisk()) {
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
  if (lane->backoff_ns > 0) spools_.Sync();
}

void PublishingLanes::DropBeyondBound() {
  while (queue_bytes_ > options_.queue_bytes) {
    Lane* lane = Largest();
    if (lane->queue.size() < 2) return;
    Count(lane, -static_cast<int64_t>(lane->queue.front().bytes()));
    lane->queue.pop_front();
    counters_->dropped_queue_full.fetch_add(1, std::memory_order_relaxed);
  }
}

PublishingLanes::Lane* PublishingLanes::Begin(bool stopping, int64_t* wait_ns) {
  const int64_t now_ns = clock_.MonotonicNs();
  *wait_ns = -1;
  Lane* next = nullptr;
  for (const auto& [number, lane] : lanes_) {
    if (lane->busy || !HasWork(*lane)) continue;
    // Publishing a spool could delay this stop, so the spool is left for the next start.
    if (stopping && (lane->backoff_ns > 0 || !spools_.Empty(number))) continue;
    if (lane->ready_ns > now_ns) {
      const int64_t left_ns = lane->ready_ns - now_ns;
      *wait_ns = *wait_ns < 0 ? left_ns : std::min(*wait_ns, left_ns);
    } else if (next == nullptr || lane->served < next->served) {
      next = lane.get();
    }
  }
  if (next == nullptr) return nullptr;
  next->busy = true;
  next->since_ns = clock_.MonotonicNs();
  next->served = ++turn_;
  return next;
}

void PublishingLanes::End(Lane* lane, const Status& status) {
  if (!lane->in_flight.records.empty() && status.ok()) Succeed(lane);
  if (!status.ok()) Fail(lane, status);
  lane->in_flight = {};
  lane->busy = false;
  lane->since_ns = clock_.MonotonicNs();
  lane->ready_ns = lane->since_ns + lane->backoff_ns;
}

void PublishingLanes::ForgetIdle() {
  const int64_t now_ns = clock_.MonotonicNs();
  if (now_ns - swept_ns_ < kForgetLaneNs) return;
  swept_ns_ = now_ns;
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    const Lane& lane = *it->second;
    if (lane.busy || HasWork(lane) || now_ns - lane.since_ns < kForgetLaneNs) {
      ++it;
      continue;
    }
    if (lane.log_failed) counters_->lanes_failing.fetch_sub(1, std::memory_order_relaxed);
    spools_.Remove(lane.number);
    it = lanes_.erase(it);
  }
}

void PublishingLanes::Finish() {
  if (spools_.open()) {
    for (const auto& [number, lane] : lanes_) Spill(lane.get());
    spools_.Sync();
    spools_.Finish();
  }
  size_t lost = 0;
  for (const auto& [number, lane] : lanes_) lost += lane->queue.size();
  lanes_.clear();
  queue_bytes_ = 0;
  if (lost == 0) return;
  counters_->dropped_at_stop.fetch_add(lost, std::memory_order_relaxed);
  PITWALL_LOG(kError, "collector", lost, " records could not be published and are lost");
}

}  // namespace pitwall::collector
