#include "services/history/remote/record_queue.h"

namespace pitwall::history {
namespace {

constexpr FollowerOptions kOptions = {.resume = FollowerOptions::Resume::kStart,
                                      .max_records = 200,
                                      .max_bytes = size_t{1} << 20,
                                      .open_interval = Duration::Zero(),
                                      .check_interval = Duration::Seconds(1)};

}  // namespace

RecordQueue::RecordQueue(Clock* clock, Log* log, TopicPartition at, const std::atomic<bool>* stop)
    : stop_(*stop), follower_(clock, log, std::move(at), kOptions) {}

Status RecordQueue::Open(int64_t from) {
  follower_.Restart(from, {});
  RETURN_IF_ERROR(follower_.Open());
  replaced_ = false;
  return OkStatus();
}

Status RecordQueue::Read(Duration timeout) {
  FollowedRecords read;
  const Status polled = follower_.Poll(stop_ ? Duration::Zero() : timeout, &read);
  for (Record& record : read.records) records_.push_back(std::move(record));
  if (!read.replaced.ok()) {
    replaced_ = true;
    return read.replaced;
  }
  if (!read.loss.ok()) return read.loss;
  return read.records.empty() ? polled : OkStatus();  // a lasting error recurs
}

Record RecordQueue::Pop() {
  Record record = std::move(records_.front());
  records_.pop_front();
  return record;
}

}  // namespace pitwall::history
