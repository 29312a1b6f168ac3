#include "services/history/remote/offset_search.h"

#include <vector>

#include "services/base/time.h"

namespace pitwall::history {

StatusOr<OffsetSearch> OffsetSearch::Open(Log* log, const TopicPartition& at,
                                          const std::atomic<bool>* stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<PartitionReader> reader, log->OpenReader(at, kFromStart));
  return OffsetSearch(std::move(reader), stop);
}

StatusOr<int64_t> OffsetSearch::OffsetAt(int64_t time_ns) {
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

}  // namespace pitwall::history
