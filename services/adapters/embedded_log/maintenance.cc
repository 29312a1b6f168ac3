#include "services/adapters/embedded_log/maintenance.h"

#include <optional>
#include <utility>
#include <vector>

#include "services/adapters/embedded_log/compaction.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

// Deletes the partition's leading segments that contain only records appended before `cutoff_ns`.
// Also deletes the last segment if it is the only one left and has expired. Returns the number of
// deleted segments. The caller must hold the maintenance lock.
StatusOr<int64_t> DeleteExpired(CommittedState* state, CommittedState::Partition* partition,
                                CommitWriter* writer, int64_t cutoff_ns) {
  const PartitionContent content = state->Content(partition);
  size_t expired = 0;
  // The last segment may still receive records.
  for (; expired + 1 < content.segments.size(); ++expired) {
    const SegmentInfo& info = content.segments[expired];
    int64_t newest = info.last_time_ns;
    if (newest < 0) {
      ASSIGN_OR_RETURN(newest, info.segment->LastTime(info.bytes));
      state->SetLastTime(partition, info.segment.get(), newest);
    }
    if (newest >= cutoff_ns) break;
  }
  if (expired > 0) {
    // Recovery needs segment files to verify commits that are not marked as flushed, so the flush
    // must precede the deletion.
    RETURN_IF_ERROR(writer->Sync(/*durable_mark=*/true));
    // The journal is written first, because missing files that the journal still lists count as
    // damage. If the disk has no space for the frame, the first file is deleted before the frame is
    // written.
    Frame facts;
    facts.starts.push_back(
        {partition->key(), content.segments[expired].segment->name().base_offset});
    const auto forget = [&] {
      state->RemoveThrough(partition, content.segments[expired - 1].segment.get());
    };
    Status noted = writer->Rearrange(facts, forget);
    if (noted.code() == absl::StatusCode::kResourceExhausted) {
      RETURN_IF_ERROR(files::Remove(content.segments.front().segment->path()));
      noted = writer->Rearrange(facts, forget);
    }
    RETURN_IF_ERROR(noted);
    for (size_t i = 0; i < expired; ++i) {
      RETURN_IF_ERROR(files::Remove(content.segments[i].segment->path()));
    }
  }
  int64_t deleted = static_cast<int64_t>(expired);
  if (expired + 1 == content.segments.size() && content.last_time_ns < cutoff_ns) {
    ASSIGN_OR_RETURN(const bool dropped, writer->DropExpiredActive(partition, cutoff_ns));
    deleted += dropped ? 1 : 0;
  }
  return deleted;
}

}  // namespace

Maintenance::Maintenance(const EmbeddedLogOptions& options, const Parts& log, RetentionClock clock)
    : options_(options), log_(log), clock_(std::move(clock)), suspended_(clock_.suspended()) {}

std::optional<int64_t> Maintenance::AcceptedTime() {
  const std::optional<int64_t> accepted = clock_.AcceptedTime();
  suspended_.store(clock_.suspended());
  return accepted;
}

Status Maintenance::RetainLocked() {
  const std::optional<int64_t> accepted_ns = AcceptedTime();
  if (!accepted_ns.has_value()) return OkStatus();
  const int64_t now_ns = *accepted_ns;
  Status first = OkStatus();
  for (const auto& topic : log_.topics->All()) {
    const int64_t retention_ms = topic->topic.config.retention_ms;
    if (retention_ms < 0 || retention_ms > now_ns / kNanosPerMilli) continue;
    const int64_t cutoff_ns = now_ns - retention_ms * kNanosPerMilli;
    for (CommittedState::Partition* partition : topic->partitions) {
      const auto deleted = DeleteExpired(log_.state, partition, log_.writer, cutoff_ns);
      if (deleted.ok()) {
        segments_deleted_ += *deleted;
      } else if (first.ok()) {
        first = Annotate(deleted.status(), Cat("retention of ", partition->name()));
      }
    }
  }
  return first;
}

Status Maintenance::CompactLocked() {
  CompactionPolicy policy;
  policy.segment_bytes = options_.segment_bytes;
  policy.dirty_share = options_.compaction_dirty_share;
  policy.map_bytes = options_.compaction_map_bytes;
  policy.compress = options_.compress;
  policy.faults = options_.faults;
  const int64_t now_ns = AcceptedTime().value_or(INT64_MIN);
  policy.tombstone_cutoff_ns = options_.tombstone_retention_ms > now_ns / kNanosPerMilli
                                   ? INT64_MIN
                                   : now_ns - options_.tombstone_retention_ms * kNanosPerMilli;
  Status first = OkStatus();
  for (const auto& topic : log_.topics->All()) {
    if (!topic->topic.config.compacted) continue;
    for (CommittedState::Partition* partition : topic->partitions) {
      // Each pass processes as many segments as the memory limit allows and cleans at least one of
      // them.
      for (bool more = true; more;) {
        const auto written =
            CompactPartition(policy, log_.state, partition, log_.writer, log_.damage);
        more = written.ok() && *written > 0;
        compactions_ += more ? 1 : 0;
        if (!written.ok() && first.ok()) {
          first = Annotate(written.status(), Cat("compaction of ", partition->name()));
        }
      }
    }
  }
  return first;
}

Status Maintenance::Retain() {
  MutexLock lock(&mutex_);
  return RetainLocked();
}

Status Maintenance::RetainAndCompact() {
  MutexLock lock(&mutex_);
  const Status retained = RetainLocked();
  const Status compacted = CompactLocked();
  return retained.ok() ? compacted : retained;
}

Status Maintenance::CloseWriter() {
  MutexLock lock(&mutex_);
  return log_.writer->Close();
}

void Maintenance::AddTo(EmbeddedLogStats* stats) const {
  stats->segments_deleted = segments_deleted_.load();
  stats->compactions = compactions_.load();
  stats->retention_suspended = suspended_.load();
}

}  // namespace pitwall::log
