#include "services/processor/partition/stored_snapshots.h"

#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::processor {

void DeleteChunks(int32_t partition, const std::string& job, const JobSlots& slots, int slot,
                  uint32_t from, std::vector<OutgoingRecord>* records) {
  for (uint32_t i = from; i < slots.chunks[slot]; ++i) {
    records->push_back({.topic = std::string(kStateTopic),
                        .partition = partition,
                        .key = ChunkKey(partition, job, slot, i),
                        .value = {},
                        .tombstone = true});
  }
}

void StoredSnapshots::Clear() {
  slots_.clear();
  sum_ = {};
  unsaved_.clear();
}

void StoredSnapshots::Restore(const std::string& job, const JobSlots& slots) {
  if (slots.offset >= 0) sum_.Add(job, slots.offset);
  slots_[job] = slots;
}

SnapshotWrite StoredSnapshots::Prepare(const std::string& job, int64_t offset,
                                       const std::vector<std::string>& chunks) const {
  SnapshotWrite write{.job = job, .slots = {}, .sum = sum_, .records = {}};
  JobSlots& slots = write.slots;
  if (const auto known = slots_.find(job); known != slots_.end()) slots = known->second;
  if (slots.offset >= 0) write.sum.Remove(job, slots.offset);
  write.sum.Add(job, offset);
  slots.newest = 1 - slots.newest;
  slots.offset = offset;
  for (uint32_t i = 0; i < chunks.size(); ++i) {
    write.records.push_back({.topic = std::string(kStateTopic),
                             .partition = partition_,
                             .key = ChunkKey(partition_, job, slots.newest, i),
                             .value = chunks[i]});
  }
  const auto count = static_cast<uint32_t>(chunks.size());
  DeleteChunks(partition_, job, slots, slots.newest, count, &write.records);
  slots.chunks[slots.newest] = count;
  return write;
}

void StoredSnapshots::NoteCommitted(const SnapshotWrite& write) {
  unsaved_.erase(write.job);
  slots_[write.job] = write.slots;
  sum_ = write.sum;
  ++written_;
}

const std::string& StoredSnapshots::NoteUnsaved(const std::string& job, const Status& why) {
  return unsaved_[job] = std::string(ToStd(why.message()));
}

std::vector<OutgoingRecord> StoredSnapshots::Forget(const std::vector<std::string>& jobs) {
  std::vector<OutgoingRecord> records;
  for (const std::string& job : jobs) {
    unsaved_.erase(job);
    const auto found = slots_.find(job);
    if (found == slots_.end()) continue;
    for (const int slot : {0, 1}) DeleteChunks(partition_, job, found->second, slot, 0, &records);
    if (found->second.offset >= 0) sum_.Remove(job, found->second.offset);
    slots_.erase(found);
  }
  return records;
}

std::string StoredSnapshots::WhyUnsaved() const {
  return unsaved_.empty() ? "" : unsaved_.begin()->second;
}

}  // namespace pitwall::processor
