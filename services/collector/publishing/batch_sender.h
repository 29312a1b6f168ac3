// From a Batch to records of the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "services/codec/telemetry_codec.h"
#include "services/collector/publishing/publisher.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// About so many bytes a record has at most, if its parts allow it: logs refuse records of a
// megabyte.
inline constexpr size_t kRecordBytes = 512u * 1024;

// Cuts a batch between its frames and spans, so that each piece has about `limit` bytes. Only the
// last piece carries the promise, the step promises, the events and the goodbye; the others promise
// `promise_before`. Schemas travel in front.
std::vector<Batch> SplitBatch(Batch batch, int64_t promise_before, size_t limit);

// What one source has said about one job so far.
struct SourceState {
  uint64_t next_sequence = 1;
  uint64_t first_sequence = 0;  // of its batches; 0: they began with 1
  int64_t promise_ns = 0;       // the last one sent
};

// Numbers, encodes and offers batches. One per thread.
class BatchSender {
 public:
  // `publisher` is borrowed.
  explicit BatchSender(Publisher* publisher) : publisher_(publisher) {}

  // Sets the batch's sequence; its promise never goes back. `cursor`: of the client that said what
  // is in the batch; gets the batch's sequence and promise, and is told to the publisher's cursors
  // once all of the batch is durable.
  void Send(Batch batch, SourceState* state, ClientCursor* cursor = nullptr);
  ClientCursors* cursors() const { return publisher_->cursors(); }

 private:
  Publisher* const publisher_;
  codec::BatchEncoder encoder_;
};

}  // namespace pitwall::collector
