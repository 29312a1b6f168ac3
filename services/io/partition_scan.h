// Scan of the records that a partition contains now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/io/io.h"

namespace pitwall {

struct ScanOptions {
  size_t max_records = 1'000;  // per poll
  size_t max_bytes = size_t{8} << 20;
  Duration poll_timeout = Duration::Seconds(1);
  // Number of consecutive polls without progress after which the scan fails.
  int max_silent_polls = 30;
  // Receives the error for lost records (DataLoss of Poll). The scan continues after them.
  std::function<void(const Status&)> on_loss;
};

// Reads from a start position to the end that the partition had when the scan began. Not
// thread-safe.
class PartitionScan {
 public:
  // `from` is an offset or kFromStart.
  static StatusOr<PartitionScan> Open(Log* log, const TopicPartition& at, int64_t from,
                                      ScanOptions options = {});
  // Continues at the reader's position, up to the current end. `reader` is borrowed.
  static StatusOr<PartitionScan> Continue(PartitionReader* reader, const TopicPartition& at,
                                          ScanOptions options = {});

  // Returns the next record, or null after the last one. The record is valid until the next call,
  // and the caller may move from it. Also returns later records that were read together with the
  // last one. Returns Unavailable if the partition delivers no more records before its end.
  StatusOr<Record*> Next();

  int64_t end() const { return end_; }
  // Releases the reader of an opened scan, positioned after the last record that was read.
  std::unique_ptr<PartitionReader> ReleaseReader() { return std::move(owned_); }

 private:
  PartitionScan(std::unique_ptr<PartitionReader> owned, PartitionReader* reader, TopicPartition at,
                int64_t end, ScanOptions options);
  Status Poll();

  std::unique_ptr<PartitionReader> owned_;
  PartitionReader* reader_;
  TopicPartition at_;
  int64_t end_;
  ScanOptions options_;
  std::vector<Record> records_;
  size_t next_ = 0;
  int silent_polls_ = 0;
};

}  // namespace pitwall
