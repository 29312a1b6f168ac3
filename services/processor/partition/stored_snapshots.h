// Stored snapshots of a partition on pitwall.state: their slots, and the records that write or
// delete them (time-model.md 6.2).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"
#include "services/processor/commit_metadata.h"
#include "services/processor/snapshot_topic.h"

namespace pitwall::processor {

// Snapshot that has not been committed.
struct SnapshotWrite {
  std::string job;
  JobSlots slots;   // slots of the job after the commit
  SnapshotSum sum;  // sum over all jobs after the commit
  std::vector<OutgoingRecord> records;
};

// Slots of all jobs of a partition. Not thread-safe.
class StoredSnapshots {
 public:
  explicit StoredSnapshots(int32_t partition) : partition_(partition) {}

  void Clear();
  // Adds the slots that the topic contains for a job.
  void Restore(const std::string& job, const JobSlots& slots);

  // Returns the records that write a snapshot at `offset` into the job's older slot, and that
  // delete the surplus chunks of the previous snapshot in this slot.
  SnapshotWrite Prepare(const std::string& job, int64_t offset,
                        const std::vector<std::string>& chunks) const;
  // Records that the snapshot was committed.
  void NoteCommitted(const SnapshotWrite& write);
  // Records `why` as the reason that the snapshot cannot be written, and returns the reason.
  const std::string& NoteUnsaved(const std::string& job, const Status& why);
  // Forgets the jobs, and returns the records that delete their snapshots.
  std::vector<OutgoingRecord> Forget(const std::vector<std::string>& jobs);

  // Returns the sum over the newest snapshots.
  const SnapshotSum& sum() const { return sum_; }
  // Returns the reason why a snapshot has not been saved, or "".
  std::string WhyUnsaved() const;
  // Returns the number of snapshots that this owner has written.
  uint64_t written() const { return written_; }

 private:
  const int32_t partition_;
  std::map<std::string, JobSlots, std::less<>> slots_;
  SnapshotSum sum_;  // sum of slots_
  std::map<std::string, std::string, std::less<>>
      unsaved_;  // rejection reasons of unsaved snapshots, by job ID
  uint64_t written_ = 0;
};

// Appends records that delete one slot's chunks, starting at `from`.
void DeleteChunks(int32_t partition, const std::string& job, const JobSlots& slots, int slot,
                  uint32_t from, std::vector<OutgoingRecord>* records);

}  // namespace pitwall::processor
