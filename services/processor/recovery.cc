// Recovery: the last commit says how far outputs went (C) and from where records are needed again
// (L); snapshots give the state below (time.md, section 6).
#include <algorithm>
#include <array>
#include <optional>

#include "services/base/log.h"
#include "services/base/strings.h"
#include "services/codec/snapshot_codec.h"
#include "services/pipeline/topics.h"
#include "services/processor/partition_processor.h"

namespace pitwall::processor {

namespace {

struct CommitMetadata {
  int64_t replay = 0;
  std::string rules;
};

StatusOr<CommitMetadata> ParseMetadata(std::string_view text) {
  CommitMetadata metadata;
  const std::vector<std::string_view> fields = Split(text, ';');
  if (fields.size() != 3 || fields[0] != "v1" || !StartsWith(fields[1], "L=") ||
      !StartsWith(fields[2], "rules=")) {
    return DataLoss(Cat("commit metadata ", Quote(text), " is not of this version"));
  }
  const auto replay = ParseInt(fields[1].substr(2));
  if (!replay.has_value())
    return DataLoss(Cat("commit metadata ", Quote(text), ": L is no number"));
  metadata.replay = *replay;
  metadata.rules = std::string(fields[2].substr(6));
  return metadata;
}

}  // namespace

Status PartitionProcessor::Recover() {
  // First of all: from here on an older owner cannot commit any more, so what is read below is
  // final.
  // Whatever made this owner start over kept others from the log too (time.md 2.1): nobody is
  // silent yet.
  if (recovered_before_) ticks_paused_until_ = clock_->MonotonicNs() + options_.outage_grace_ns;
  recovered_before_ = true;
  ASSIGN_OR_RETURN(committer_,
                   log_->OpenCommitter(Cat(options_.group, "-", input_.topic, "-", partition_)));
  shard_ = std::make_unique<engine::Shard>(rules_, options_.engine);
  records_.clear();
  next_record_ = 0;
  outputs_ = {};
  slots_.clear();
  replayed_ = 0;
  last_tick_ns_ = last_probe_ns_ = end_seen_ = -1;
  appended_rules_.clear();
  ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed,
                   log_->Committed(options_.group, input_));
  int64_t from = kFromStart;
  if (committed.has_value()) {
    ASSIGN_OR_RETURN(const CommitMetadata metadata, ParseMetadata(committed->metadata));
    RETURN_IF_ERROR(shard_->SetInitialRules(metadata.rules));
    RETURN_IF_ERROR(LoadSnapshots(committed->offset, std::min(metadata.replay, committed->offset)));
    from = std::min(metadata.replay, committed->offset);
    suppress_below_ = committed->offset;
  } else {
    RETURN_IF_ERROR(shard_->SetInitialRules(""));
    suppress_below_ = 0;
  }
  ASSIGN_OR_RETURN(reader_, log_->OpenReader(input_, from));
  next_offset_ = from >= 0 ? from : reader_->position();
  if (next_offset_ < 0) {
    ASSIGN_OR_RETURN(next_offset_, reader_->StartOffset());
  }
  committed_offset_ = committed.has_value() ? committed->offset : next_offset_;
  shard_->StartAt(next_offset_);
  last_commit_ns_ = clock_->MonotonicNs();
  PITWALL_LOG(kInfo, "processor", "partition ", partition_, ": committed offset ",
              committed_offset_, ", reading again from ", next_offset_,
              ", jobs restored: ", shard_->counters().restored_jobs);
  Publish();
  return OkStatus();
}

Status PartitionProcessor::LoadSnapshots(int64_t committed, int64_t replay) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader,
                   log_->OpenReader({std::string(kStateTopic), partition_}, kFromStart));
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  codec::SnapshotAssembler assembler;
  // By job, both slots: the older one counts where the newer cannot be used.
  absl::btree_map<std::string, std::array<std::optional<codec::Snapshot>, 2>> found;
  std::vector<Record> records;
  while (reader->position() < end) {
    records.clear();
    if (Status status = reader->Poll(256, 32 << 20, kNanosPerSecond, &records); !status.ok()) {
      if (!absl::IsDataLoss(status)) return status;
      PITWALL_LOG(kError, "processor", "partition ", partition_,
                  ": snapshots: ", ToStd(status.message()));
    }
    for (const Record& record : records) {
      // <partition>/<job>/<slot>/<chunk>; a job id may hold slashes.
      const size_t first = record.key.find('/');
      const size_t last = record.key.rfind('/');
      const size_t middle = last == std::string::npos || last == 0
                                ? std::string::npos
                                : record.key.rfind('/', last - 1);
      if (first == std::string::npos || middle == std::string::npos || middle <= first) continue;
      const std::string job = record.key.substr(first + 1, middle - first - 1);
      const auto slot =
          ParseInt(std::string_view(record.key).substr(middle + 1, last - middle - 1));
      const auto chunk = ParseInt(std::string_view(record.key).substr(last + 1));
      if (!slot.has_value() || !chunk.has_value() || *slot < 0 || *slot > 1 || *chunk < 0) continue;
      Slots& slots = slots_[job];
      if (record.tombstone) {
        // The whole job was deleted, or a longer snapshot's last chunks.
        if (*chunk == 0) {
          found[job][static_cast<size_t>(*slot)].reset();
          assembler.Drop(job);
        }
        slots.chunks[*slot] = std::min(slots.chunks[*slot], static_cast<uint32_t>(*chunk));
        continue;
      }
      slots.chunks[*slot] = std::max(slots.chunks[*slot], static_cast<uint32_t>(*chunk) + 1);
      auto snapshot = assembler.Add(record.value);
      if (!snapshot.ok()) {
        PITWALL_LOG(kWarning, "processor", "partition ", partition_, ": snapshot chunk ",
                    record.key, " at offset ", record.offset, ": ",
                    ToStd(snapshot.status().message()));
        continue;
      }
      if (!snapshot->has_value() || (*snapshot)->offset > committed) continue;
      found[job][static_cast<size_t>(*slot)] = std::move(**snapshot);
    }
  }
  for (auto& [job, both] : found) RETURN_IF_ERROR(RestoreNewest(job, replay, &both));
  absl::erase_if(slots_, [&](const auto& entry) {
    const auto it = found.find(entry.first);
    return it == found.end() || (!it->second[0].has_value() && !it->second[1].has_value());
  });
  return OkStatus();
}

Status PartitionProcessor::RestoreNewest(const std::string& job, int64_t replay,
                                         std::array<std::optional<codec::Snapshot>, 2>* both) {
  const auto offset = [&](int slot) {
    const auto& snapshot = (*both)[static_cast<size_t>(slot)];
    return snapshot.has_value() ? snapshot->offset : int64_t{-1};
  };
  const int newer = offset(1) >= offset(0) ? 1 : 0;
  Status failed = OkStatus();
  for (const int slot : {newer, 1 - newer}) {
    auto& snapshot = (*both)[static_cast<size_t>(slot)];
    // What happened between an older snapshot and L would be missing.
    if (!snapshot.has_value() || (!failed.ok() && snapshot->offset < replay)) continue;
    const Status restored = shard_->RestoreJob({.job = job,
                                                .offset = snapshot->offset,
                                                .rule_set_hash = snapshot->rule_set_hash,
                                                .format = snapshot->format,
                                                .payload = std::move(snapshot->payload)});
    if (restored.ok()) {
      slots_[job].newest = slot;
      return OkStatus();
    }
    PITWALL_LOG(kError, "processor", "partition ", partition_, ": snapshot in slot ", slot, ": ",
                ToStd(restored.message()));
    failed = restored;
  }
  return Annotate(failed,
                  Cat("no snapshot of job ", Quote(job),
                      " can be restored, which holds up its partition (deleting its records of ",
                      kStateTopic, " lets it start anew)"));
}

}  // namespace pitwall::processor
