// Conversion of batches to log records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "services/codec/telemetry_codec.h"
#include "services/collector/publishing/publisher.h"
#include "services/model/telemetry.h"

namespace pitwall::collector {

// Approximate maximum size of a record. A record exceeds it if a single part is larger. Logs
// typically reject records above 1 MB.
inline constexpr size_t kRecordBytes = 512u * 1024;

// Splits a batch at frame and span boundaries into pieces of about `limit` bytes. Only the last
// piece has the promise, step promises, events, and goodbye; the other pieces have the promise
// `promise_before`. Schemas are in the first piece.
std::vector<Batch> SplitBatch(Batch batch, int64_t promise_before, size_t limit);

// Sequence and promise of one source in one job.
struct SourceState {
  uint64_t next_sequence = 1;
  uint64_t first_sequence = 0;  // sequence of the first batch; 0 means 1
  int64_t promise_ns = 0;       // last promise that was sent
};

// Numbers and encodes batches and passes them to the publisher. One instance per thread.
class BatchSender {
 public:
  // The caller owns `publisher`.
  explicit BatchSender(Publisher* publisher) : publisher_(publisher) {}

  // Sets the batch's sequence and sends the batch. The promise never decreases. `cursor` belongs to
  // the client whose data is in the batch. Send stores the sequence and promise of the batch in
  // `cursor`, and the publisher's cursors advance once the whole batch is durable.
  void Send(Batch batch, SourceState* state, ClientCursor* cursor = nullptr);
  ClientCursors* cursors() const { return publisher_->cursors(); }

 private:
  Publisher* const publisher_;
  codec::BatchEncoder encoder_;
};

}  // namespace pitwall::collector
