#include "services/executor/worker/issue_reader.h"

#include <optional>
#include <random>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/io/log_fingerprint.h"

namespace pitwall::executor {
namespace {

constexpr int64_t kCommitIntervalNs = 5 * kNanosPerSecond;

std::string RandomName() {
  std::random_device random;
  return Cat(random(), "-", random());
}

}  // namespace

IssueReader::IssueReader(Clock* clock, Log* log, ExecutorCounters* counters, WorkerHealth* health,
                         TopicPartition at, std::string group)
    : clock_(clock),
      log_(log),
      counters_(counters),
      health_(health),
      at_(std::move(at)),
      group_(std::move(group)),
      name_(RandomName()) {}

Status IssueReader::Open() {
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at_));
  // On the first start, the worker reads from the end of the log. Issues that are already open are
  // repeated within five minutes.
  int64_t from = kFromEnd;
  if (committed) {
    ASSIGN_OR_RETURN(from, Resume(*committed));
  }
  ASSIGN_OR_RETURN(reader_, log_->OpenReader(at_, from));
  begin_ = polled_from_ = reader_->position();
  return OkStatus();
}

StatusOr<bool> IssueReader::Rewind() {
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at_));
  int64_t from = begin_;
  if (committed) {
    ASSIGN_OR_RETURN(from, Resume(*committed));
  }
  RETURN_IF_ERROR(reader_->Seek(from));
  polled_from_ = reader_->position();
  committed_ = -1;
  return committed && committed->metadata == last_commit_;
}

Status IssueReader::Poll(size_t max_records, size_t max_bytes, Duration wait,
                         std::vector<Record>* records) {
  if (reader_->position() < polled_from_) return OkStatus();
  polled_from_ = reader_->position();
  return reader_->Poll(max_records, max_bytes, wait, records);
}

StatusOr<int64_t> IssueReader::Resume(const CommittedOffset& committed) {
  mark_ = ParseLogMark(committed.metadata);
  const Status same = CheckLogMark(log_, at_, committed.offset, mark_);
  if (same.ok()) return committed.offset;
  if (!absl::IsFailedPrecondition(same)) return same;
  mark_ = {};
  NoteReset(std::string(ToStd(same.message())));
  return kFromEnd;
}

StatusOr<bool> IssueReader::FollowReplaced() {
  ASSIGN_OR_RETURN(const int64_t end, reader_->EndOffset());
  if (reader_->position() >= polled_from_ && reader_->position() <= end) return false;
  RETURN_IF_ERROR(reader_->Seek(kFromEnd));
  const int64_t before = std::exchange(polled_from_, reader_->position());
  begin_ = reader_->position();
  mark_ = {};
  NoteReset(std::string(ToStd(LogIsBehind(at_, end, before).message())));
  return true;
}

void IssueReader::NoteReset(std::string text) {
  counters_->log_resets.Add();
  text += "; resuming at the end, because open issues are repeated within five minutes";
  PITWALL_LOG(kError, "executor", text);
  health_->NoteReset(std::move(text), clock_->MonotonicNs());
}

std::string IssueReader::NextCommit() {
  last_commit_ = Cat(name_, "/", ++commits_, ";", EncodeLogMark(mark_));
  return last_commit_;
}

void IssueReader::NoteCommit(int64_t next_offset) {
  committed_at_ns_ = clock_->MonotonicNs();
  if (next_offset >= 0) committed_ = next_offset;
}

bool IssueReader::IsCommitDue() const {
  const int64_t now = clock_->MonotonicNs();
  return reader_->position() != committed_ && now - committed_at_ns_ >= kCommitIntervalNs;
}

}  // namespace pitwall::executor
