#include "services/collector/publishing/batch_sender.h"

#include <algorithm>
#include <utility>

namespace pitwall::collector {
namespace {

size_t SizeOf(const Schema& schema) {
  size_t size = 32;
  for (const SeriesDescriptor& series : schema.series) {
    size += 8;
    for (const Label& label : series.labels) size += label.name.size() + label.value.size() + 6;
  }
  return size;
}
size_t SizeOf(const Frame& frame) {
  return 32 + frame.mode.size() + 8 * frame.values.size() + 9 * frame.times.size() +
         4 * frame.steps.size();
}
size_t SizeOf(const Span& span) { return 36 + span.name.size() + span.mode.size(); }

}  // namespace

std::vector<Batch> SplitBatch(Batch batch, int64_t promise_before, size_t limit) {
  size_t size = 0;
  for (const Schema& schema : batch.schemas) size += SizeOf(schema);
  for (const Frame& frame : batch.frames) size += SizeOf(frame);
  for (const Span& span : batch.spans) size += SizeOf(span);
  std::vector<Batch> pieces;
  if (size <= limit) {
    pieces.push_back(std::move(batch));
    return pieces;
  }

  Batch head;  // fields that all pieces share
  head.job = batch.job;
  head.owner = batch.owner;
  head.owner_declared = batch.owner_declared;
  head.source = batch.source;
  head.boot_id = batch.boot_id;
  head.info = batch.info;
  head.promise = EventTime::FromNs(promise_before);
  size_t used = 0;
  auto piece = [&](size_t part) -> Batch& {
    if (pieces.empty() || used + part > limit) {
      pieces.push_back(head);
      used = 0;
    }
    used += part;
    return pieces.back();
  };
  for (const SharedSchema& schema : batch.schemas) piece(SizeOf(*schema)).schemas.push_back(schema);
  for (const Frame& frame : batch.frames) piece(SizeOf(frame)).frames.push_back(frame);
  for (Span& span : batch.spans) {
    const size_t part = SizeOf(span);
    piece(part).spans.push_back(std::move(span));
  }
  Batch& last = pieces.back();
  last.promise = batch.promise;
  last.events = std::move(batch.events);
  last.step_promises = std::move(batch.step_promises);
  last.goodbye = batch.goodbye;
  return pieces;
}

void BatchSender::Send(Batch batch, SourceState* state, ClientCursor* cursor) {
  batch.promise = std::max(batch.promise, EventTime::FromNs(state->promise_ns));
  const int64_t promise_ns = batch.promise.ns();
  const std::string job = batch.job;
  std::vector<Batch> pieces = SplitBatch(std::move(batch), state->promise_ns, kRecordBytes);
  for (Batch& piece : pieces) {
    piece.sequence = state->next_sequence++;
    piece.first_sequence = state->first_sequence;
    std::string bytes;
    encoder_.Encode(piece, &bytes);
    std::string note;
    if (cursor != nullptr && &piece == &pieces.back()) {
      cursor->batch = piece.sequence;
      cursor->promise_ns = promise_ns;
      note = EncodeCursor(*cursor);
    }
    publisher_->Offer(job, std::move(bytes), std::move(note));
  }
  state->promise_ns = promise_ns;
}

}  // namespace pitwall::collector
