#include "services/history/remote/remote_write_worker.h"

#include <algorithm>
#include <optional>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

constexpr Duration kPoll = Duration::Millis(100);
constexpr int64_t kRetryNs = kNanosPerSecond;
// Maximum number of pending samples. Gathering pauses at the limit.
constexpr size_t kMaxPending = 200'000;

}  // namespace

RemoteWriteWorker::RemoteWriteWorker(Clock* clock, Log* log, HttpTransport* transport,
                                     const MirrorOptions* options, RemoteCounters* counters,
                                     int32_t partition)
    : clock_(clock),
      log_(log),
      options_(*options),
      counters_(*counters),
      at_{options->topic, partition},
      worker_(clock, "remote", partition),
      mirror_(options->filter),
      sender_(transport, &options->receiver, counters, Cat("partition ", partition)),
      age_(clock, options->max_behind_ns),
      queue_(clock, log, at_, worker_.stop_flag()),
      position_(log, options->group, at_) {
  worker_.OnStop([this] { queue_.Interrupt(); });
}

void RemoteWriteWorker::Start() {
  worker_.Start([this] { Loop(); });
}

int64_t RemoteWriteWorker::behind_ns() const {
  const int64_t oldest = oldest_ns_;
  return oldest == 0 ? 0 : std::max<int64_t>(clock_->WallNs() - oldest, 0);
}

void RemoteWriteWorker::Loop() {
  while (!worker_.stopping()) {
    const Status status = Step();
    if (!status.ok() && !worker_.stopping()) {
      if (const std::string text(status.message()); text != logged_error_) {
        PITWALL_LOG(kWarning, "insights", "remote_write: ", at_.topic, "/", at_.partition, ": ",
                    text, "; retrying");
        logged_error_ = text;
      }
      worker_.Wait(kRetryNs);
    }
  }
  // The next start rereads the pending records.
  if (const Status saved = position_.Save(); !saved.ok()) {
    PITWALL_LOG(kWarning, "insights", "remote_write: failed to save the position of partition ",
                at_.partition, " (", ToStd(saved.message()), "); some samples will be sent again");
  }
}

Status RemoteWriteWorker::Open() {
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed,
                   log_->Committed(options_.group, at_));
  ASSIGN_OR_RETURN(OffsetSearch search, OffsetSearch::Open(log_, at_, worker_.stop_flag()));
  ASSIGN_OR_RETURN(const int64_t start, search.StartOffset());
  position_.RestoreStart(start);
  if (committed.has_value()) {
    ASSIGN_OR_RETURN(const MirrorPosition::Restored restored, position_.Restore(*committed, start));
    sender_.set_repeating(position_.repeating());
    if (restored == MirrorPosition::Restored::kGap) counters_.input_losses.Add();
    if (restored == MirrorPosition::Restored::kReplaced) counters_.log_resets.Add();
  }
  return StartReading(&search, committed.has_value());
}

Status RemoteWriteWorker::StartOver() {
  // The samples are not in the new log, so no position covers them.
  ASSIGN_OR_RETURN(const bool sent, SendPending());
  if (!sent) return OkStatus();
  gathered_ns_ = 0;
  ASSIGN_OR_RETURN(OffsetSearch search, OffsetSearch::Open(log_, at_, worker_.stop_flag()));
  ASSIGN_OR_RETURN(const int64_t start, search.StartOffset());
  position_.RestoreStart(start);
  return StartReading(&search, /*count_skipped=*/true);
}

Status RemoteWriteWorker::StartReading(OffsetSearch* search, bool count_skipped) {
  // Warm-up starts warm_up_ns before this append time.
  int64_t warm_up_before = position_.newest_ns();
  // Older records would be dropped one by one, so they are skipped together.
  const int64_t oldest = age_.OldestNs();
  if (warm_up_before < oldest) {
    ASSIGN_OR_RETURN(const int64_t first, search->OffsetAt(oldest));
    const int64_t begin = position_.begin();
    if (count_skipped && first > begin) {
      PITWALL_LOG(kWarning, "insights", "remote_write: ", at_.topic, "/", at_.partition,
                  ": records ", begin, " to ", first,
                  " are older than insights.remote_write.max_behind; skipping them");
      counters_.behind_records.Add(static_cast<uint64_t>(first - begin));
    }
    position_.SkipTo(first);
    warm_up_before = oldest;
  }
  ASSIGN_OR_RETURN(const int64_t from, search->OffsetAt(warm_up_before - options_.warm_up_ns));
  RETURN_IF_ERROR(queue_.Open(std::min(from, position_.begin())));
  position_.Begin();
  return OkStatus();
}

Status RemoteWriteWorker::Read(Duration timeout) {
  const Status polled = queue_.Read(timeout);
  if (queue_.replaced()) {
    counters_.log_resets.Add();
    PITWALL_LOG(kWarning, "insights", "remote_write: ", ToStd(polled.message()));
    return OkStatus();
  }
  if (!absl::IsDataLoss(polled)) return polled;
  counters_.input_losses.Add();
  PITWALL_LOG(kWarning, "insights", "remote_write: ", ToStd(polled.message()),
              "; the receiver has a gap there");
  return OkStatus();
}

bool RemoteWriteWorker::Gather() {
  while (!queue_.empty()) {
    if (position_.EndsRepetition(queue_.front().offset)) return true;
    Take(queue_.Pop());
    if (mirror_.pending() >= kMaxPending && !position_.repeating()) return true;
  }
  return false;
}

void RemoteWriteWorker::Take(const Record& record) {
  const StatusOr<codec::DecodedRecord> decoded = decoder_.Decode(record.value);
  if (!decoded.ok()) {
    if (record.offset >= position_.begin()) counters_.undecodable.Add();
  } else if (decoded->batch != nullptr) {
    mirror_.Take(*decoded->batch, record.append_time.ns(), record.offset < position_.begin());
  }
  position_.NoteRead(record);
  if (oldest_ns_ == 0 && record.offset >= position_.begin()) oldest_ns_ = record.append_time.ns();
}

void RemoteWriteWorker::CountDropped() {
  MirrorCounts& counts = mirror_.counts();
  counters_.duplicates.Add(counts.duplicates);
  counters_.no_schema.Add(counts.no_schema);
  counters_.ahead.Add(counts.ahead);
  counters_.merged.Add(counts.merged);
  counts = {};
  series_ = mirror_.series();
}

Status RemoteWriteWorker::Flush() {
  if (mirror_.pending() > 0) RETURN_IF_ERROR(position_.BeginRequest(queue_.next_offset()));
  ASSIGN_OR_RETURN(const bool sent, SendPending());
  // If nothing was sent, the position is unchanged, so the records are reread.
  if (sent) position_.EndRequest(queue_.next_offset());
  return OkStatus();
}

StatusOr<bool> RemoteWriteWorker::SendPending() {
  const auto expired = [this, newest_ns = position_.newest_ns()] {
    return age_.Expired(newest_ns);
  };
  const std::span<const MirroredSample> all = mirror_.Pending();
  const size_t fresh = mirror_.Fresh();
  Status sent = sender_.Send(all.first(fresh), expired, &worker_);
  if (sent.ok()) sent = sender_.Send(all.subspan(fresh), expired, &worker_);
  if (absl::IsCancelled(sent)) return false;
  if (absl::IsDeadlineExceeded(sent)) {
    counters_.behind.Add(all.size());
  } else {
    RETURN_IF_ERROR(sent);
  }
  CountDropped();
  mirror_.Forget();
  sender_.set_repeating(false);
  oldest_ns_ = 0;
  return true;
}

Status RemoteWriteWorker::Step() {
  if (queue_.replaced()) return StartOver();
  if (!queue_.open()) RETURN_IF_ERROR(Open());
  if (queue_.empty()) RETURN_IF_ERROR(Read(kPoll));
  if (queue_.replaced()) return OkStatus();
  bool full = Gather();
  ASSIGN_OR_RETURN(const int64_t end, queue_.EndOffset());
  const int64_t next = queue_.next_offset();
  lag_ = std::max<int64_t>(end - next, 0);
  if (position_.EndsRepetition(next)) full = true;
  logged_error_.clear();
  const int64_t now = clock_->MonotonicNs();
  if (mirror_.pending() > 0 && gathered_ns_ == 0) gathered_ns_ = now;
  const bool due = full || (!position_.repeating() && gathered_ns_ != 0 &&
                            now - gathered_ns_ >= options_.linger_ns);
  // Records without samples are complete as soon as they are read.
  if (!due && (mirror_.pending() > 0 || position_.repeating())) return OkStatus();
  if (!due && position_.sent() == next) return position_.Save();
  gathered_ns_ = 0;
  return Flush();
}

}  // namespace pitwall::history
