#include "services/adapters/embedded_log/format/committed_state.h"

#include "services/adapters/embedded_log/format/checkpoint_frames.h"
#include "services/base/check.h"

namespace pitwall::log {

CommittedState::Partition* CommittedState::Add(const PartitionKey& key, std::string name,
                                               std::string dir, PartitionContent content) {
  auto partition =
      std::make_unique<Partition>(key, std::move(name), std::move(dir), std::move(content));
  MutexLock lock(&mutex_);
  std::unique_ptr<Partition>& slot = partitions_[key];
  PITWALL_CHECK(slot == nullptr);
  slot = std::move(partition);
  return slot.get();
}

void CommittedState::Publish(const Publication& publication) {
  MutexLock lock(&mutex_);
  for (const PartitionUpdate& update : publication.partitions) update.partition->Apply(update);
  groups_.Apply(publication.positions, publication.epochs);
  for (const PartitionUpdate& update : publication.partitions) update.partition->Wake();
}

ReadView CommittedState::View(const Partition* partition, int64_t offset) const {
  MutexLock lock(&mutex_);
  return partition->View(offset);
}

int64_t CommittedState::StartOffset(const Partition* partition) const {
  MutexLock lock(&mutex_);
  return partition->content_.start_offset;
}

int64_t CommittedState::EndOffset(const Partition* partition) const {
  MutexLock lock(&mutex_);
  return partition->content_.end_offset;
}

int64_t CommittedState::LostUntil(const Partition* partition, int64_t from, int64_t to) const {
  MutexLock lock(&mutex_);
  return partition->LostUntil(from, to);
}

void CommittedState::AddWaiter(Partition* partition, Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  partition->waiters_.push_back(wakeup);
}

void CommittedState::RemoveWaiter(Partition* partition, Wakeup* wakeup) {
  MutexLock lock(&mutex_);
  std::erase(partition->waiters_, wakeup);
}

std::optional<CommittedOffset> CommittedState::Position(std::string_view group,
                                                        const PartitionKey& key) const {
  MutexLock lock(&mutex_);
  return groups_.Position(group, key);
}

uint64_t CommittedState::Epoch(std::string_view id) const {
  MutexLock lock(&mutex_);
  return groups_.Epoch(id);
}

Status CommittedState::CheckRoom(const GroupPosition* position, std::string_view committer) const {
  MutexLock lock(&mutex_);
  return groups_.CheckRoom(position, committer);
}

PartitionContent CommittedState::Content(const Partition* partition) const {
  MutexLock lock(&mutex_);
  return partition->content_;
}

void CommittedState::RemoveThrough(Partition* partition, const Segment* last) {
  MutexLock lock(&mutex_);
  partition->RemoveThrough(last);
}

void CommittedState::Replace(Partition* partition, const Segment* first, const Segment* last,
                             SegmentInfo merged) {
  MutexLock lock(&mutex_);
  partition->Replace(first, last, std::move(merged));
}

std::vector<LostRange> CommittedState::ExpiredLost(const Partition* partition,
                                                   int64_t cutoff_ns) const {
  MutexLock lock(&mutex_);
  return partition->ExpiredLost(cutoff_ns);
}

void CommittedState::ForgetLost(Partition* partition, const std::vector<LostRange>& ranges) {
  MutexLock lock(&mutex_);
  partition->ForgetLost(ranges);
}

void CommittedState::NoteTopic(const TopicFact& topic) {
  MutexLock lock(&mutex_);
  topics_[topic.number] = topic;
}

void CommittedState::SetLastTime(Partition* partition, const Segment* segment,
                                 int64_t last_time_ns) {
  MutexLock lock(&mutex_);
  partition->SetLastTime(segment, last_time_ns);
}

std::vector<Frame> CommittedState::Snapshot(uint64_t sequence) const {
  CheckpointFrames frames(sequence);
  MutexLock lock(&mutex_);
  for (const auto& [number, topic] : topics_) frames.Open().topics.push_back(topic);
  for (const auto& [key, partition] : partitions_) partition->AddTo(&frames);
  groups_.AddTo(&frames);
  return frames.Finish();
}

std::pair<int64_t, int64_t> CommittedState::Totals() const {
  MutexLock lock(&mutex_);
  std::pair<int64_t, int64_t> totals{0, 0};
  for (const auto& [key, partition] : partitions_) {
    totals.first += static_cast<int64_t>(partition->content_.segments.size());
    totals.second += partition->CountBytes();
  }
  return totals;
}

}  // namespace pitwall::log
