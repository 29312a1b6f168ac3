// Codec for the records on pitwall.telemetry. No other code depends on the layout of
// telemetry.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/telemetry.h"

namespace pitwall::codec {

// Limits per record. A record over a limit is rejected as a whole, and the error contains the
// limit.
struct DecodeLimits {
  size_t record_bytes = 32u << 20;
  size_t schemas = 64;
  size_t series_per_schema = 65'536;
  size_t labels_per_series = 64;
  size_t name_bytes = 1024;   // IDs, metric and label names, modes, span names
  size_t value_bytes = 4096;  // label values, reasons, fields of a job reference
  size_t frames = 65'536;
  size_t ticks_per_frame = 1u << 20;
  size_t spans = 1u << 20;
  size_t job_events = 256;
  size_t labels_per_event = 256;
  size_t series_per_event = 4096;
  size_t step_modes = 64;  // also the maximum number of step promises
};

// Result of Decode. Exactly one pointer is set. Both objects belong to the decoder and are valid
// until its next Decode.
struct DecodedRecord {
  const Batch* batch = nullptr;
  const ControlRecord* control = nullptr;
};

// Decodes records from pitwall.telemetry. All calls reuse one message object, one Batch, and one
// scratch buffer, so a frame needs no allocation and its values are not copied. The frames' spans
// point into these buffers until the next Decode. Not thread-safe: use one decoder per thread.
//
// Decode rejects the following with InvalidArgument and the location ("frames[2]: …"):
//  * truncated bytes, bytes in another format, and text that is not UTF-8;
//  * a missing or unknown body; an empty job, source, or boot ID; a job ID that begins with "__";
//    sequence 0, or a sequence below the first; missing source info or an unknown kind; a rank
//    source without a rank;
//  * a schema whose ID is not SchemaId(stream, series); a duplicate series or schema; an empty
//    metric or label name (all other UTF-8 without control characters is valid, as in Prometheus
//    3); "__name__" as a label; a duplicate label; an empty label value;
//  * frame times that overflow or are not strictly ascending; steps that are negative, overflow,
//    differ in number from the times, or have no mode; a number of values other than
//    ticks * columns (if the schema is not in the same record: not a multiple of the ticks);
//  * spans, job events, and step promises of an unknown kind or with a negative duration;
//  * anything over the limits.
// Doubles are preserved bit for bit, so NaN markers survive. A frame's schema may be in another
// record.
class BatchDecoder {
 public:
  explicit BatchDecoder(const DecodeLimits& limits = {});
  ~BatchDecoder();
  BatchDecoder(BatchDecoder&&) noexcept;
  BatchDecoder& operator=(BatchDecoder&&) noexcept;

  StatusOr<DecodedRecord> Decode(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Encodes records with one reused message object, for callers that encode many records.
// Deterministic across machines. Does not validate its input: times are written unchanged. Not
// thread-safe.
class BatchEncoder {
 public:
  BatchEncoder();
  ~BatchEncoder();
  BatchEncoder(BatchEncoder&&) noexcept;
  BatchEncoder& operator=(BatchEncoder&&) noexcept;

  // Replaces *out with the encoded batch.
  void Encode(const Batch& batch, std::string* out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Encodes a single record. Replaces *out.
void EncodeBatch(const Batch& batch, std::string* out);
void EncodeControl(const ControlRecord& control, std::string* out);

}  // namespace pitwall::codec
