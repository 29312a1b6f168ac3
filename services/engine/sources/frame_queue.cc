#include "services/engine/sources/frame_queue.h"

#include <algorithm>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::engine {

FrameQueue::FrameQueue(const EngineOptions& options, const JobClock* clock, PendingBytes* memory,
                       LimitReport* limits, EngineCounters* counters)
    : options_(options), clock_(clock), memory_(memory), limits_(limits), counters_(counters) {}

void FrameQueue::AddSchemas(const std::vector<SharedSchema>& schemas, Source* source) {
  for (const Schema& schema : schemas) {
    if (!source->AddSchema(schema, options_, memory_))
      limits_->CountPending(1, memory_->limit(), memory_->largest_name());
  }
  if (!schemas.empty()) Release(source);
}

void FrameQueue::Release(Source* source) {
  for (auto it = source->waiting.begin(); it != source->waiting.end();) {
    const auto schema = source->schemas.find(it->schema_id);
    if (schema == source->schemas.end()) {
      ++it;
      continue;
    }
    if (it->columns() == schema->second->schema.series.size()) {
      it->binding = schema->second;
      // While the frame waited, its source may have become idle, and the watermark may have passed
      // some rows. These rows are late.
      const EventTime passed = clock_->passed();
      while (it->next < it->times.size() && it->times[it->next] <= passed) ++it->next;
      const size_t late = it->next * it->columns();
      counters_->Count(Drop::kLate, late);
      counters_->samples += it->values.size() - late;
      if (it->next == it->times.size()) {
        memory_->Give(PendingKind::kSamples, HeldBytes(*it));
      } else {
        source->newest_sample = std::max(source->newest_sample, it->times.back());
        source->pending.push_back(std::move(*it));
      }
    } else {
      counters_->Count(Drop::kMalformed);
      memory_->Give(PendingKind::kSamples, HeldBytes(*it));
    }
    it = source->waiting.erase(it);
  }
}

void FrameQueue::Add(PendingFrame frame, Source* source) {
  if (!memory_->Take(PendingKind::kSamples, HeldBytes(frame))) {
    limits_->CountPending(frame.values.size(), memory_->limit(), memory_->largest_name());
    return;
  }
  const auto schema = source->schemas.find(frame.schema_id);
  if (schema == source->schemas.end()) {
    source->waiting.push_back(std::move(frame));
    return;
  }
  schema->second->last_used = source->batches;
  frame.binding = schema->second;
  source->newest_sample = std::max(source->newest_sample, frame.times.back());
  counters_->samples += frame.values.size();
  source->pending.push_back(std::move(frame));
}

void FrameQueue::DropWaiting(Duration elapsed, Source* source, EventSink* out) {
  while (!source->waiting.empty()) {
    for (PendingFrame& frame : source->waiting) frame.waited += elapsed;
    elapsed = Duration::Zero();
    const PendingFrame& oldest = source->waiting.front();
    if (oldest.waited <= options_.schema_wait) return;
    counters_->Count(Drop::kUnknownSchema);
    memory_->Give(PendingKind::kSamples, HeldBytes(oldest));
    BinaryWriter bytes;
    bytes.Doubles(oldest.values);
    out->AddDeadLetter(
        source->id, bytes.Take(),
        Cat("descriptors of schema ", oldest.schema_id, " never arrived (batch ", oldest.sequence,
            ", boot ", source->boot, "); the value holds the frame's raw doubles"),
        oldest.offset);
    source->waiting.pop_front();
  }
}

void FrameQueue::RemoveTaken(Source* source) {
  while (!source->pending.empty() &&
         source->pending.front().next == source->pending.front().times.size()) {
    memory_->Give(PendingKind::kSamples, HeldBytes(source->pending.front()));
    source->pending.pop_front();
  }
}

std::vector<RowRef> FrameQueue::TakeRows(const std::vector<Source*>& sources, EventTime to) {
  std::vector<RowRef> rows;
  for (Source* source : sources) {
    for (PendingFrame& frame : source->pending) {
      while (frame.next < frame.times.size() && frame.times[frame.next] <= to) {
        rows.push_back({frame.times[frame.next], source, &frame, frame.next});
        ++frame.next;
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const RowRef& a, const RowRef& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.source != b.source) {
      if (const int c = a.source->id.compare(b.source->id); c != 0) return c < 0;
      return a.source->boot < b.source->boot;
    }
    if (a.frame->sequence != b.frame->sequence) return a.frame->sequence < b.frame->sequence;
    if (a.frame->index != b.frame->index) return a.frame->index < b.frame->index;
    return a.row < b.row;
  });
  return rows;
}

}  // namespace pitwall::engine
