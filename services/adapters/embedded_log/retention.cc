#include "services/adapters/embedded_log/retention.h"

#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::log {

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
    // After this flush, recovery can verify commits that were never marked as flushed without the
    // deleted files.
    RETURN_IF_ERROR(writer->Sync(/*durable_mark=*/true));
    // The journal is written first, because files that are missing without a note count as damage.
    // If the disk has no space for the note, the first file is deleted before the note is written.
    Frame facts;
    facts.starts.push_back(
        {CommittedState::Key(partition), content.segments[expired].segment->name().base_offset});
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

}  // namespace pitwall::log
