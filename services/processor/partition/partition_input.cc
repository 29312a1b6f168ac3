#include "services/processor/partition/partition_input.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/io/log_fingerprint.h"
#include "services/processor/partition/partition_options.h"

namespace pitwall::processor {

void PartitionInput::Clear() {
  records_.clear();
  next_record_ = 0;
}

Status PartitionInput::Open(Log* log, int64_t from, const std::optional<AppliedRecord>& applied) {
  ASSIGN_OR_RETURN(reader_, log->OpenReader(at_, from));
  next_offset_ = from;
  applied_ = applied;
  return OkStatus();
}

Status PartitionInput::Poll(size_t max_records, size_t max_bytes, Duration timeout, size_t* bytes) {
  Clear();
  const Status status = reader_->Poll(max_records, max_bytes, timeout, &records_);
  for (const Record& record : records_) *bytes += record.value.size();
  return status;
}

StatusOr<const Record*> PartitionInput::Front() const {
  const Record& record = records_[next_record_];
  if (record.offset < next_offset_) return TruncatedAt(record.offset);
  return &record;
}

void PartitionInput::Pop() {
  const Record& record = records_[next_record_++];
  next_offset_ = record.offset + 1;
  if (!applied_.has_value() || record.offset > applied_->offset)
    applied_ = {record.offset, record.append_time};
}

void PartitionInput::SkipEmptyOffsets() {
  if (drained()) next_offset_ = std::max(next_offset_, reader_->position());
}

Status PartitionInput::CheckEnd(int64_t end) const {
  return end < next_offset_ ? TruncatedAt(end) : OkStatus();
}

Status PartitionInput::TruncatedAt(int64_t end) const {
  return LogIsBehind(at_, end, next_offset_, kAcceptReset);
}

}  // namespace pitwall::processor
