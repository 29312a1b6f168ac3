#include "services/adapters/embedded_log/commit/partition_writers.h"

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {

PartitionWriters::PartitionWriters(SegmentPolicy policy, bool suspend, CommittedState* state,
                                   const Clock* clock)
    : policy_(std::move(policy)), suspend_(suspend), state_(state), append_clock_(clock) {}

PartitionWriter* PartitionWriters::WriterOf(CommittedState::Partition* partition) {
  std::unique_ptr<PartitionWriter>& writer = writers_[partition];
  if (writer == nullptr) {
    writer = std::make_unique<PartitionWriter>(&policy_, partition, partition->dir(),
                                               state_->Content(partition));
    append_clock_.ContinueAfter(writer->mark().last_time_ns);
  }
  return writer.get();
}

Status PartitionWriters::Write(const std::vector<RoutedRecord>& records, Frame* frame, Undo* undo) {
  // Records keep their order within a partition. Partitions are ordered by their first record.
  std::vector<PartitionWriter*> order;
  std::map<PartitionWriter*, std::vector<const OutgoingRecord*>> per_partition;
  for (const RoutedRecord& record : records) {
    PartitionWriter* const writer = WriterOf(record.partition);
    std::vector<const OutgoingRecord*>& of_partition = per_partition[writer];
    if (of_partition.empty()) order.push_back(writer);
    of_partition.push_back(record.record);
  }
  const int64_t now_ns = append_clock_.Stamp();
  for (PartitionWriter* writer : order) {
    undo->emplace_back(writer, writer->mark());
    const int64_t bytes_before = writer->bytes_written();
    const Status status = writer->Write(per_partition[writer], now_ns, &builder_, &dirty_, frame);
    bytes_ += writer->bytes_written() - bytes_before;
    if (!status.ok()) {
      return Annotate(status, Cat("partition ", writer->partition()->name()));
    }
  }
  return OkStatus();
}

Status PartitionWriters::Settle(const DirtyFiles& flushed, const FlushResult& result) {
  flushes_ += result.flushes;
  failed_flushes_ += static_cast<int64_t>(result.failed.size());
  for (const auto& [key, entry] : result.left.files) {
    const Status again = WriteAgain(entry);
    if (!again.ok()) PITWALL_LOG(kError, "log", entry.file->path(), ": ", ToStd(again.message()));
  }
  dirty_.Add(result.left);
  if (!suspend_) return result.first;  // the commit itself fails
  for (const auto& [partition, status] : result.failed) {
    PartitionWriter* const writer = WriterOf(partition);
    if (writer->suspended().ok()) {
      PITWALL_LOG(kError, "log", ToStd(status.message()),
                  "; the partition rejects records until a flush succeeds (retrying)");
    }
    writer->Suspend(Unavailable(Cat("records appended earlier cannot be flushed (",
                                    ToStd(status.message()), "); retrying")));
  }
  for (const auto& [key, entry] : flushed.files) {
    const auto writer = writers_.find(entry.partition);
    if (writer == writers_.end() || writer->second->suspended().ok()) continue;
    if (result.failed.contains(entry.partition)) continue;
    PITWALL_LOG(kInfo, "log", "partition ", entry.partition->name(), ": accepting records again");
    writer->second->Suspend(OkStatus());
  }
  return result.first;
}

Status PartitionWriters::Flush(Partitions* culprits) {
  // Files that a concurrent Sync is flushing may not be on disk yet.
  dirty_.Add(in_flight_);
  const DirtyFiles dirty = std::exchange(dirty_, {});
  const FlushResult result = FlushFiles(dirty);
  for (const auto& [partition, status] : result.failed) culprits->insert(partition);
  return Settle(dirty, result);
}

DirtyFiles PartitionWriters::BeginFlush() {
  in_flight_ = std::exchange(dirty_, {});
  return in_flight_;
}

Status PartitionWriters::EndFlush(const DirtyFiles& flushed, const FlushResult& result) {
  in_flight_.clear();
  return Settle(flushed, result);
}

int64_t PartitionWriters::CountSuspended() const {
  int64_t suspended = 0;
  for (const auto& [partition, writer] : writers_) {
    if (!writer->suspended().ok()) ++suspended;
  }
  return suspended;
}

}  // namespace pitwall::log
