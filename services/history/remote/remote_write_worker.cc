#include "services/history/remote/remote_write_worker.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

constexpr size_t kPollRecords = 200;
constexpr size_t kPollBytes = size_t{1} << 20;
constexpr int64_t kPollNs = 100 * kNanosPerMilli;
constexpr int64_t kRetryNs = kNanosPerSecond;
constexpr std::string_view kEnd = "end=";  // key in the stored position's metadata
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
      wakeup_(clock->NewWakeup()),
      mirror_(options->filter),
      sender_(transport, &options->receiver, counters, Cat("partition ", partition)) {
  MutexLock lock(&age_mutex_);
  age_clock_.Restore(clock_->WallNs());
}

int64_t RemoteWriteWorker::AgeNow() const {
  MutexLock lock(&age_mutex_);
  return *age_clock_.Advance(clock_->WallNs(), clock_->MonotonicNs());
}

RemoteWriteWorker::~RemoteWriteWorker() { Stop(); }

void RemoteWriteWorker::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void RemoteWriteWorker::Stop() {
  if (!thread_.joinable()) return;
  stop_ = true;
  wakeup_->Wake();
  {
    MutexLock lock(&mutex_);
    if (polled_ != nullptr) polled_->Interrupt();
  }
  thread_.join();
}

int64_t RemoteWriteWorker::behind_ns() const {
  const int64_t oldest = oldest_ns_;
  return oldest == 0 ? 0 : std::max<int64_t>(clock_->WallNs() - oldest, 0);
}

void RemoteWriteWorker::Loop() {
  while (!stop_) {
    const Status status = Step();
    if (!status.ok() && !stop_) {
      if (const std::string text(status.message()); text != logged_error_) {
        PITWALL_LOG(kWarning, "insights", "remote_write: ", at_.topic, "/", at_.partition, ": ",
                    text, "; retrying");
        logged_error_ = text;
      }
      wakeup_->Wait(kRetryNs);
    }
  }
  // The next start rereads the pending records.
  if (const Status saved = Save(doubtful_end_); !saved.ok()) {
    PITWALL_LOG(kWarning, "insights", "remote_write: failed to save the position of partition ",
                at_.partition, " (", ToStd(saved.message()), "); some samples will be sent again");
  }
}

StatusOr<int64_t> RemoteWriteWorker::OffsetAt(PartitionReader* reader, int64_t time_ns) const {
  ASSIGN_OR_RETURN(int64_t low, reader->StartOffset());
  ASSIGN_OR_RETURN(int64_t high, reader->EndOffset());
  std::vector<Record> records;
  while (low < high && !stop_) {
    const int64_t middle = low + (high - low) / 2;
    RETURN_IF_ERROR(reader->Seek(middle));
    records.clear();
    const Status polled = reader->Poll(1, 1, kNanosPerSecond / 5, &records);
    if (!polled.ok() && !absl::IsDataLoss(polled)) return polled;
    if (records.empty() || records[0].append_time_ns >= time_ns) {
      high = middle;
    } else {
      low = records[0].offset + 1;
    }
  }
  return low;
}

Status RemoteWriteWorker::Open() {
  ASSIGN_OR_RETURN(const auto committed, log_->Committed(options_.group, at_));
  ASSIGN_OR_RETURN(reader_, log_->OpenReader(at_, kFromStart));
  const auto opened = [&]() -> Status {
    ASSIGN_OR_RETURN(const int64_t start, reader_->StartOffset());
    begin_ = start;
    int64_t warm_up_before =
        0;  // append time of the first record to send; 0 uses the offset instead
    if (committed.has_value()) {
      const LogFingerprint mark = ParseLogMark(committed->metadata);
      const Status same = CheckLogMark(log_, at_, committed->offset, mark);
      if (absl::IsFailedPrecondition(same)) {
        PITWALL_LOG(kWarning, "insights", "remote_write: ", ToStd(same.message()),
                    "; reading the log from its start");
      } else {
        RETURN_IF_ERROR(same);
        begin_ = std::max(start, committed->offset);
        warm_up_before = mark.append_time_ns;
        mark_ = mark;
        for (const std::string_view field : Split(committed->metadata, ';')) {
          if (!StartsWith(field, kEnd)) continue;
          doubtful_end_ = ParseInt(field.substr(kEnd.size())).value_or(-1);
          sender_.set_repeating(doubtful_end_ >= 0);
        }
        if (committed->offset < start) counters_.input_losses.Add();
      }
    }
    // Older records would be dropped one by one, so they are skipped together.
    const int64_t oldest = AgeNow() - options_.max_behind_ns;
    if (warm_up_before < oldest) {
      ASSIGN_OR_RETURN(const int64_t first, OffsetAt(reader_.get(), oldest));
      if (committed.has_value() && first > begin_) {
        PITWALL_LOG(kWarning, "insights", "remote_write: ", at_.topic, "/", at_.partition,
                    ": records ", begin_, " to ", first,
                    " are older than insights.remote_write.max_behind; skipping them");
        counters_.behind_records.Add(static_cast<uint64_t>(first - begin_));
      }
      if (first > begin_) doubtful_end_ = -1;
      begin_ = std::max(begin_, first);
      warm_up_before = oldest;
    }
    ASSIGN_OR_RETURN(const int64_t from,
                     OffsetAt(reader_.get(), warm_up_before - options_.warm_up_ns));
    sent_ = begin_;
    sent_mark_ = mark_;
    saved_ = committed.has_value() ? committed->offset : -1;
    return reader_->Seek(std::min(from, begin_));
  }();
  if (!opened.ok()) reader_ = nullptr;
  return opened;
}

Status RemoteWriteWorker::Read(int64_t timeout_ns) {
  {
    MutexLock lock(&mutex_);
    polled_ = reader_.get();
  }
  std::vector<Record> records;
  if (stop_) timeout_ns = 0;
  const Status polled = reader_->Poll(kPollRecords, kPollBytes, timeout_ns, &records);
  {
    MutexLock lock(&mutex_);
    polled_ = nullptr;
  }
  if (absl::IsDataLoss(polled)) {
    counters_.input_losses.Add();
    PITWALL_LOG(kWarning, "insights", "remote_write: ", ToStd(polled.message()),
                "; the receiver has a gap there");
  } else {
    RETURN_IF_ERROR(polled);
  }
  for (Record& record : records) read_.push_back(std::move(record));
  return OkStatus();
}

void RemoteWriteWorker::Take(const Record& record) {
  const StatusOr<codec::DecodedRecord> decoded = decoder_.Decode(record.value);
  if (!decoded.ok()) {
    if (record.offset >= begin_) counters_.undecodable.Add();
  } else if (decoded->batch != nullptr) {
    mirror_.Take(*decoded->batch, record.append_time_ns, record.offset < begin_);
  }
  mark_ = {record.offset, record.append_time_ns};
  if (oldest_ns_ == 0 && record.offset >= begin_) oldest_ns_ = record.append_time_ns;
}

int64_t RemoteWriteWorker::Next() const {
  return read_.empty() ? reader_->position() : read_.front().offset;
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
  const std::vector<MirroredSample>& samples = mirror_.Pending();
  if (!samples.empty()) {
    doubtful_end_ = Next();
    RETURN_IF_ERROR(Save(doubtful_end_));
  }
  const int64_t newest_ns = mark_.append_time_ns;
  const auto expired = [&] { return AgeNow() - newest_ns > options_.max_behind_ns; };
  const std::span<const MirroredSample> all = samples;
  const size_t fresh = mirror_.Fresh();
  Status sent = sender_.Send(all.first(fresh), expired, stop_, wakeup_.get());
  if (sent.ok()) sent = sender_.Send(all.subspan(fresh), expired, stop_, wakeup_.get());
  if (absl::IsCancelled(sent))
    return OkStatus();  // `sent_` is unchanged, so the records are read again
  if (absl::IsDeadlineExceeded(sent)) {
    counters_.behind.Add(samples.size());
  } else {
    RETURN_IF_ERROR(sent);
  }
  CountDropped();
  mirror_.Forget();
  doubtful_end_ = -1;
  sender_.set_repeating(false);
  sent_ = std::max(Next(), begin_);
  sent_mark_ = mark_;
  oldest_ns_ = 0;
  return OkStatus();
}

Status RemoteWriteWorker::Save(int64_t end) {
  if (sent_ < 0 || (sent_ == saved_ && end < 0)) return OkStatus();
  std::string metadata = EncodeLogMark(sent_mark_);
  if (end >= 0) CatTo(metadata, ";", kEnd, end);
  RETURN_IF_ERROR(log_->StorePosition(options_.group, at_, {sent_, metadata}));
  saved_ = sent_;
  return OkStatus();
}

Status RemoteWriteWorker::Step() {
  if (reader_ == nullptr) RETURN_IF_ERROR(Open());
  if (read_.empty()) RETURN_IF_ERROR(Read(kPollNs));
  bool full = false;
  while (!read_.empty() && !full) {
    if (doubtful_end_ >= 0 && read_.front().offset >= doubtful_end_) {
      full = true;
      break;
    }
    const Record record = std::move(read_.front());
    read_.pop_front();
    Take(record);
    full = mirror_.pending() >= kMaxPending && doubtful_end_ < 0;
  }
  ASSIGN_OR_RETURN(const int64_t end, reader_->EndOffset());
  lag_ = std::max<int64_t>(end - Next(), 0);
  if (doubtful_end_ >= 0 && Next() >= doubtful_end_) full = true;
  logged_error_.clear();
  const int64_t now = clock_->MonotonicNs();
  if (mirror_.pending() > 0 && gathered_ns_ == 0) gathered_ns_ = now;
  const bool due =
      full || (doubtful_end_ < 0 && gathered_ns_ != 0 && now - gathered_ns_ >= options_.linger_ns);
  // Records without samples are complete as soon as they are read.
  if (!due && (mirror_.pending() > 0 || doubtful_end_ >= 0)) return OkStatus();
  if (!due && sent_ == Next()) return Save(-1);
  gathered_ns_ = 0;
  return Flush();
}

}  // namespace pitwall::history
