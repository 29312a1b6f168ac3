#include "services/io/partition_scan.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall {

PartitionScan::PartitionScan(std::unique_ptr<PartitionReader> owned, PartitionReader* reader,
                             TopicPartition at, int64_t end, ScanOptions options)
    : owned_(std::move(owned)),
      reader_(reader),
      at_(std::move(at)),
      end_(end),
      options_(std::move(options)) {}

StatusOr<PartitionScan> PartitionScan::Open(Log* log, const TopicPartition& at, int64_t from,
                                            ScanOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<PartitionReader> owned, log->OpenReader(at, from));
  PartitionReader* const reader = owned.get();
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  return PartitionScan(std::move(owned), reader, at, end, std::move(options));
}

StatusOr<PartitionScan> PartitionScan::Continue(PartitionReader* reader, const TopicPartition& at,
                                                ScanOptions options) {
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  return PartitionScan(nullptr, reader, at, end, std::move(options));
}

StatusOr<Record*> PartitionScan::Next() {
  while (next_ == records_.size()) {
    if (reader_->position() >= end_) return nullptr;
    RETURN_IF_ERROR(Poll());
  }
  return &records_[next_++];
}

Status PartitionScan::Poll() {
  records_.clear();
  next_ = 0;
  const int64_t before = reader_->position();
  const Status polled =
      reader_->Poll(options_.max_records, options_.max_bytes, options_.poll_timeout, &records_);
  if (!polled.ok()) {
    if (!absl::IsDataLoss(polled)) return polled;
    if (options_.on_loss) options_.on_loss(polled);
  }
  silent_polls_ = records_.empty() && reader_->position() == before ? silent_polls_ + 1 : 0;
  if (silent_polls_ > options_.max_silent_polls) {
    return Unavailable(Cat(at_.topic, "/", at_.partition, " ends at ", end_,
                           " but has no readable records from ", before));
  }
  return OkStatus();
}

}  // namespace pitwall
