#include "services/processor/snapshot_topic.h"
#include "services/io/partition_scan.h"

#include <algorithm>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/io/topics.h"

namespace pitwall::processor {

namespace {

constexpr size_t kMaxDamage = 20;

struct ParsedKey {
  std::string job;
  size_t slot = 0;
  uint32_t chunk = 0;
};

// Job IDs may contain slashes, so the key is parsed from both ends.
std::optional<ParsedKey> ParseKey(int32_t partition, const std::string& key) {
  const size_t first = key.find('/');
  const size_t last = key.rfind('/');
  const size_t middle =
      last == std::string::npos || last == 0 ? std::string::npos : key.rfind('/', last - 1);
  if (first == std::string::npos || middle == std::string::npos || middle <= first)
    return std::nullopt;
  const auto owner = ParseInt(std::string_view(key).substr(0, first));
  const auto slot = ParseInt(std::string_view(key).substr(middle + 1, last - middle - 1));
  const auto chunk = ParseInt(std::string_view(key).substr(last + 1));
  if (owner != partition || !slot.has_value() || !chunk.has_value() || *slot < 0 || *slot > 1 ||
      *chunk < 0 || *chunk >= UINT32_MAX) {
    return std::nullopt;
  }
  return ParsedKey{key.substr(first + 1, middle - first - 1), static_cast<size_t>(*slot),
                   static_cast<uint32_t>(*chunk)};
}

class StateReading {
 public:
  StateReading(int32_t partition, int64_t committed, const codec::SnapshotLimits& limits)
      : partition_(partition), committed_(committed), assembler_(limits) {}

  void Damaged(std::string what) {
    if (state_.damage.size() < kMaxDamage) state_.damage.push_back(std::move(what));
  }
  void Take(const Record& record) {
    const std::optional<ParsedKey> key = ParseKey(partition_, record.key);
    if (!key.has_value()) return;
    SnapshotTopic::SavedJob& job = state_.jobs[key->job];
    uint32_t& chunks = job.slots.chunks[key->slot];
    if (record.tombstone) {
      // Either the whole slot was deleted, or only the surplus chunks of a longer previous
      // snapshot.
      if (key->chunk == 0) job.snapshots[key->slot].reset();
      chunks = std::min(chunks, key->chunk);
      return;
    }
    chunks = std::max(chunks, key->chunk + 1);
    auto snapshot = assembler_.Add(record.value);
    if (!snapshot.ok()) {
      Damaged(Cat("chunk ", record.key, " at offset ", record.offset, ": ",
                  ToStd(snapshot.status().message())));
      return;
    }
    if (!snapshot->has_value()) return;
    if ((*snapshot)->job != key->job) {
      Damaged(Cat("chunk ", record.key, " at offset ", record.offset, ": belongs to job ",
                  Quote((*snapshot)->job)));
      return;
    }
    if ((*snapshot)->offset <= committed_) job.snapshots[key->slot] = std::move(**snapshot);
  }
  SnapshotTopic Finish() {
    for (auto it = state_.jobs.begin(); it != state_.jobs.end();) {
      SnapshotTopic::SavedJob& job = it->second;
      if (const auto newer = job.Newer(); newer.has_value()) {
        job.slots.newest = *newer;
        job.slots.offset = job.snapshots[static_cast<size_t>(*newer)]->offset;
        state_.sum.Add(it->first, job.slots.offset);
      }
      it = job.slots.chunks[0] + job.slots.chunks[1] == 0 ? state_.jobs.erase(it) : std::next(it);
    }
    for (std::string& line : assembler_.Incomplete()) Damaged(std::move(line));
    return std::move(state_);
  }

 private:
  const int32_t partition_;
  const int64_t committed_;
  codec::SnapshotAssembler assembler_;
  SnapshotTopic state_;
};

}  // namespace

std::string ChunkKey(int32_t partition, std::string_view job, int slot, uint32_t chunk) {
  return Cat(partition, "/", job, "/", slot, "/", chunk);
}

std::optional<int> SnapshotTopic::SavedJob::Newer() const {
  if (!snapshots[0].has_value() && !snapshots[1].has_value()) return std::nullopt;
  if (!snapshots[0].has_value()) return 1;
  if (!snapshots[1].has_value()) return 0;
  return snapshots[1]->offset >= snapshots[0]->offset ? 1 : 0;
}

StatusOr<SnapshotTopic> ReadSavedState(Log* log, int32_t partition, int64_t committed,
                                       const codec::SnapshotLimits& limits) {
  StateReading reading(partition, committed, limits);
  ASSIGN_OR_RETURN(
      PartitionScan scan,
      PartitionScan::Open(
          log, {std::string(kStateTopic), partition}, kFromStart,
          {.max_records = 256, .max_bytes = size_t{32} << 20, .on_loss = [&](const Status& lost) {
             reading.Damaged(std::string(ToStd(lost.message())));
           }}));
  while (true) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr) break;
    reading.Take(*record);
  }
  return reading.Finish();
}

}  // namespace pitwall::processor
