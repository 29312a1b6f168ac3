#include "services/io/topic_follower.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr Duration kScanPoll = Duration::Seconds(1);

}  // namespace

TopicFollower::TopicFollower(Clock* clock, Log* log, TopicPartition at, FollowerOptions options)
    : clock_(clock),
      log_(log),
      at_(std::move(at)),
      options_(options),
      from_(options.from),
      mark_(options.mark) {}

Status TopicFollower::Open() {
  if (open_) return OkStatus();
  const MonotonicTime now = clock_->Monotonic();
  if (!open_error_.ok() && now < next_open_) return open_error_;
  next_open_ = now + options_.open_interval;
  open_error_ = TryOpen();
  open_ = open_error_.ok();
  return open_error_;
}

Status TopicFollower::TryOpen() {
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(at_.topic));
  if (at_.partition >= partitions) {
    return NotFound(Cat(at_.topic, "/", at_.partition,
                        ": does not exist (partitions of the topic: ", partitions, ")"));
  }
  const Status same = from_ < 0 ? OkStatus() : CheckLogMark(log_, at_, from_, mark_);
  const bool replaced = absl::IsFailedPrecondition(same);
  if (!same.ok() && (!replaced || options_.resume == FollowerOptions::Resume::kNever)) return same;
  if (reader_ == nullptr) {
    ASSIGN_OR_RETURN(std::unique_ptr<PartitionReader> reader,
                     log_->OpenReader(at_, same.ok() ? from_ : kFromStart));
    MutexLock lock(&mutex_);
    reader_ = std::move(reader);
  } else {
    RETURN_IF_ERROR(reader_->Seek(same.ok() ? from_ : kFromStart));
  }
  ASSIGN_OR_RETURN(end_at_open_, reader_->EndOffset());
  if (from_ == kFromStart && options_.last_offsets < end_at_open_ - reader_->position())
    RETURN_IF_ERROR(reader_->Seek(end_at_open_ - options_.last_offsets));
  polled_from_ = reader_->position();
  return same.ok() ? OkStatus() : ResumeAfter(same);
}

Status TopicFollower::Poll(Duration timeout, FollowedRecords* out) {
  *out = {};
  RETURN_IF_ERROR(Open());
  out->replaced = std::exchange(replaced_, OkStatus());
  if (!out->replaced.ok()) return OkStatus();
  Status polled;
  // If the reader has moved back, the replaced log must be handled before the next poll. Otherwise
  // it would not be detected.
  if (reader_->position() >= polled_from_) {
    polled_from_ = reader_->position();
    polled = reader_->Poll(options_.max_records, options_.max_bytes, timeout, &out->records);
    if (absl::IsDataLoss(polled)) out->loss = std::exchange(polled, OkStatus());
  }
  const bool moved_back = reader_->position() < polled_from_;
  const MonotonicTime now = clock_->Monotonic();
  // While the log does not respond, a check would only wait for another request.
  if (moved_back || (polled.ok() && out->records.empty() && now >= next_check_)) {
    next_check_ = now + options_.check_interval;
    const Status checked = CheckReplaced().status();
    if (polled.ok()) polled = checked;
    out->replaced = std::exchange(replaced_, OkStatus());
    if (moved_back) *out = {.records = {}, .loss = {}, .replaced = std::move(out->replaced)};
  }
  for (const Record& record : out->records) mark_ = {record.offset, record.append_time};
  return polled;
}

StatusOr<int64_t> TopicFollower::CheckReplaced() {
  ASSIGN_OR_RETURN(const int64_t end, reader_->EndOffset());
  if (reader_->position() >= polled_from_ && reader_->position() <= end) return end;
  const int64_t before = std::max(polled_from_, reader_->position());
  RETURN_IF_ERROR(ResumeAfter(end < before ? LogIsBehind(at_, end, before) : LogWasReplaced(at_)));
  return end;
}

Status TopicFollower::ResumeAfter(const Status& why) {
  if (options_.resume == FollowerOptions::Resume::kNever) return why;
  int64_t to = kFromStart;
  if (options_.resume == FollowerOptions::Resume::kEnd) to = kFromEnd;
  const bool after_newest = options_.resume == FollowerOptions::Resume::kAfterNewest;
  if (after_newest) {
    ASSIGN_OR_RETURN(to, FirstAfter(log_, at_, {-1, mark_.append_time}));
  }
  RETURN_IF_ERROR(reader_->Seek(to));
  ASSIGN_OR_RETURN(end_at_open_, reader_->EndOffset());
  polled_from_ = reader_->position();
  mark_ = {-1, after_newest ? mark_.append_time : AppendTime()};  // the offset is of another log
  ++resets_;
  replaced_ =
      FailedPrecondition(Cat(ToStd(why.message()), "; continuing at offset ", reader_->position()));
  return OkStatus();
}

Status TopicFollower::ReadToEnd(const std::function<Status(FollowedRecords*)>& take,
                                const std::atomic<bool>* stop) {
  RETURN_IF_ERROR(Open());
  ASSIGN_OR_RETURN(const int64_t end, CheckReplaced());
  int silent_polls = 0;
  while (reader_->position() < end || !replaced_.ok()) {
    if (stop != nullptr && *stop)
      return Unavailable(Cat(at_.topic, "/", at_.partition, ": the scan was stopped"));
    FollowedRecords out;
    const int64_t before = reader_->position();
    const Status polled = Poll(kScanPoll, &out);
    const bool silent = out.records.empty() && out.replaced.ok();
    if (!silent || !out.loss.ok()) RETURN_IF_ERROR(take(&out));
    RETURN_IF_ERROR(polled);
    silent_polls = silent && reader_->position() == before ? silent_polls + 1 : 0;
    if (silent_polls > options_.max_silent_polls) {
      return Unavailable(Cat(at_.topic, "/", at_.partition, " ends at ", end,
                             " but has no readable records from ", before));
    }
  }
  return OkStatus();
}

void TopicFollower::Restart(int64_t from, const LogFingerprint& mark) {
  from_ = from;
  mark_ = mark;
  open_ = false;
  open_error_ = OkStatus();
  replaced_ = OkStatus();
}

void TopicFollower::Interrupt() {
  MutexLock lock(&mutex_);
  if (reader_ != nullptr) reader_->Interrupt();
}

}  // namespace pitwall
