// Input of a partition: records that have been read but not applied, and the offset of the next
// record to apply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"
#include "services/processor/commit_metadata.h"

namespace pitwall::processor {

// Records from one pitwall.telemetry partition, in offset order. Not thread-safe.
class PartitionInput {
 public:
  explicit PartitionInput(TopicPartition at) : at_(std::move(at)) {}

  // Drops records that have been read but not applied.
  void Clear();
  // Continues at offset `from`. `applied` is the last record that the previous owner applied.
  Status Open(Log* log, int64_t from, const std::optional<AppliedRecord>& applied);

  // Reads records and adds the size of their values to `bytes`. All previous records must have been
  // applied. Returns DataLoss if records below reader_offset() no longer exist. After DataLoss, the
  // next call continues with the remaining records.
  Status Poll(size_t max_records, size_t max_bytes, Duration timeout, size_t* bytes);
  // Returns true if all records read so far have been applied.
  bool drained() const { return next_record_ == records_.size(); }
  // Returns the next record. Returns FailedPrecondition if its offset is below next_offset(). Must
  // not be called if drained() is true.
  StatusOr<const Record*> Front() const;
  // Marks the front record as applied.
  void Pop();
  // If all records are applied, skips offsets without records up to the reader's offset.
  void SkipEmptyOffsets();

  // Returns the offset after the last applied record.
  int64_t next_offset() const { return next_offset_; }
  // Returns the offset that Poll reads next, or next_offset() before Open.
  int64_t reader_offset() const { return reader_ == nullptr ? next_offset_ : reader_->position(); }
  // Returns the offset after the last committed record of the log.
  StatusOr<int64_t> ReadEnd() { return reader_->EndOffset(); }
  // Returns FailedPrecondition if the log ends at `end`, below next_offset().
  Status CheckEnd(int64_t end) const;
  const std::optional<AppliedRecord>& applied() const { return applied_; }

 private:
  // Returns the error for a log whose next offset, `end`, is below next_offset_.
  Status TruncatedAt(int64_t end) const;

  const TopicPartition at_;
  std::unique_ptr<PartitionReader> reader_;
  std::vector<Record> records_;  // reused between polls
  size_t next_record_ = 0;   // index of the first record in records_ that has not been applied yet
  int64_t next_offset_ = 0;  // offset after the last applied record
  std::optional<AppliedRecord> applied_;
};

}  // namespace pitwall::processor
