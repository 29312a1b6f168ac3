// Implementation of PartitionReader for segment files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/embedded_log/damage_log.h"
#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall::log {

// Implements the contract in io.h. Shares ownership of the state that it reads, so it may outlive
// the log.
class SegmentPartitionReader final : public PartitionReader {
 public:
  SegmentPartitionReader(std::shared_ptr<CommittedState> state, std::shared_ptr<DamageLog> damage,
                         CommittedState::Partition* partition, Clock* clock);
  ~SegmentPartitionReader() override;

  Status Poll(size_t max_records, size_t max_bytes, Duration timeout,
              std::vector<Record>* out) override;
  int64_t position() const override { return position_; }
  Status Seek(int64_t offset) override;
  StatusOr<int64_t> EndOffset() override;
  StatusOr<int64_t> StartOffset() override;
  void Interrupt() override;

 private:
  // Limits and partial result of one Poll.
  struct Take {
    size_t max_records;
    size_t max_bytes;
    std::vector<Record>* out;
    size_t records = 0;
    size_t bytes = 0;
    bool full() const { return records >= max_records || bytes >= max_bytes; }
  };

  // Reads the available records without waiting.
  Status ReadNow(Take* take);
  // Opens the next batch if necessary. Returns true if a batch is open and false at the committed
  // end.
  StatusOr<bool> OpenBatch();
  StatusOr<bool> EnterSegment();  // returns false at the committed end
  // Must be called at the reader's limit. Returns false at the committed end.
  StatusOr<bool> LeaveSegment();
  void TakeBatch(Take* take, Status* bad);
  // Advances to `to` and returns the error for the lost records in between.
  Status Lose(int64_t to, std::string_view why, bool damage);
  std::string Place(int64_t at) const;
  void LeaveBatch();

  const std::shared_ptr<CommittedState> state_;
  const std::shared_ptr<DamageLog> damage_;
  CommittedState::Partition* const partition_;
  Clock* const clock_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> interrupted_{false};

  int64_t position_ = 0;
  int64_t pending_position_ = 0;  // position after the pending loss
  Status pending_;                // loss detected after Poll had already collected records
  ReadView view_;
  std::optional<SegmentReader> reader_;  // reads view_.segment
  std::string broken_;                   // reason why data before the next batch is unreadable
  BatchDecoder decoder_;
  int64_t batch_end_ = 0;  // first offset after the open batch
  int64_t batch_at_ = 0;
};

}  // namespace pitwall::log
