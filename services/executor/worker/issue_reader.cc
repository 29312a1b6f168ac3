#include "services/executor/worker/issue_reader.h"

#include <random>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::executor {
namespace {

constexpr size_t kPollBytes = size_t{2} << 20;
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
      group_(std::move(group)),
      name_(RandomName()),
      follower_(clock, log, std::move(at),
                {.resume = FollowerOptions::Resume::kEnd,
                 .max_bytes = kPollBytes,
                 .open_interval = Duration::Zero(),
                 .check_interval = Duration::Zero()}) {}

StatusOr<std::optional<CommittedOffset>> IssueReader::SetStart(int64_t otherwise) {
  ASSIGN_OR_RETURN(std::optional<CommittedOffset> committed,
                   log_->Committed(group_, follower_.at()));
  if (committed) {
    follower_.Restart(committed->offset, ParseLogMark(committed->metadata));
  } else {
    follower_.Restart(otherwise, {});
  }
  RETURN_IF_ERROR(follower_.Open());
  return committed;
}

Status IssueReader::Open() {
  // On the first start, the worker reads from the end of the log. Issues that are already open are
  // repeated within five minutes.
  RETURN_IF_ERROR(SetStart(kFromEnd).status());
  begin_ = follower_.position();
  return OkStatus();
}

StatusOr<bool> IssueReader::Rewind() {
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, SetStart(begin_));
  committed_ = -1;
  return committed && committed->metadata == last_commit_;
}

Status IssueReader::Poll(Duration wait, FollowedRecords* read) {
  const Status polled = follower_.Poll(wait, read);
  if (read->replaced.ok()) return polled;
  begin_ = follower_.position();
  counters_->log_resets.Add();
  std::string text = Cat(ToStd(read->replaced.message()),
                         ", the end, because open issues are repeated within five minutes");
  PITWALL_LOG(kError, "executor", text);
  health_->NoteReset(std::move(text), clock_->MonotonicNs());
  return polled;
}

std::string IssueReader::NextCommit() {
  last_commit_ = Cat(name_, "/", ++commits_, ";", EncodeLogMark(follower_.mark()));
  return last_commit_;
}

void IssueReader::NoteCommit(int64_t next_offset) {
  committed_at_ns_ = clock_->MonotonicNs();
  if (next_offset >= 0) committed_ = next_offset;
}

bool IssueReader::IsCommitDue() const {
  const int64_t now = clock_->MonotonicNs();
  return follower_.position() != committed_ && now - committed_at_ns_ >= kCommitIntervalNs;
}

}  // namespace pitwall::executor
