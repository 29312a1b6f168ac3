#include "services/history/remote/record_queue.h"

#include <vector>

namespace pitwall::history {

Status RecordQueue::Open(Log* log) {
  ASSIGN_OR_RETURN(reader_, log->OpenReader(at_, kFromStart));
  return OkStatus();
}

void RecordQueue::Interrupt() {
  MutexLock lock(&mutex_);
  if (polled_ != nullptr) polled_->Interrupt();
}

StatusOr<int64_t> RecordQueue::OffsetAt(int64_t time_ns) {
  ASSIGN_OR_RETURN(int64_t low, reader_->StartOffset());
  ASSIGN_OR_RETURN(int64_t high, reader_->EndOffset());
  std::vector<Record> records;
  while (low < high && !stop_) {
    const int64_t middle = low + (high - low) / 2;
    RETURN_IF_ERROR(reader_->Seek(middle));
    records.clear();
    const Status polled = reader_->Poll(1, 1, Duration::Millis(200), &records);
    if (!polled.ok() && !absl::IsDataLoss(polled)) return polled;
    if (records.empty() || records[0].append_time.ns() >= time_ns) {
      high = middle;
    } else {
      low = records[0].offset + 1;
    }
  }
  return low;
}

Status RecordQueue::Read(size_t max_records, size_t max_bytes, Duration timeout) {
  {
    MutexLock lock(&mutex_);
    polled_ = reader_.get();
  }
  std::vector<Record> records;
  if (stop_) timeout = Duration::Zero();
  Status polled = reader_->Poll(max_records, max_bytes, timeout, &records);
  {
    MutexLock lock(&mutex_);
    polled_ = nullptr;
  }
  if (!polled.ok() && !absl::IsDataLoss(polled)) return polled;
  for (Record& record : records) records_.push_back(std::move(record));
  return polled;
}

Record RecordQueue::Pop() {
  Record record = std::move(records_.front());
  records_.pop_front();
  return record;
}

}  // namespace pitwall::history
