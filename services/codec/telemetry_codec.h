// Bytes of pitwall.telemetry <-> the model. The only code that knows the layout of telemetry.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/telemetry.h"

namespace pitwall::codec {

// What one record may hold at most. A record beyond a limit is refused as a whole, with the limit
// in the reason.
struct DecodeLimits {
  size_t record_bytes = 32u << 20;
  size_t schemas = 64;
  size_t series_per_schema = 65'536;
  size_t labels_per_series = 64;
  size_t name_bytes = 1024;   // ids, metric and label names, modes, span names
  size_t value_bytes = 4096;  // label values, reasons, fields of a job reference
  size_t frames = 65'536;
  size_t ticks_per_frame = 1u << 20;
  size_t spans = 1u << 20;
  size_t job_events = 256;
  size_t labels_per_event = 256;
  size_t series_per_event = 4096;
  size_t step_modes = 64;  // also the number of step promises
};

// Exactly one of the two is set. Both belong to the decoder that returned them and live until its
// next Decode.
struct DecodedRecord {
  const Batch* batch = nullptr;
  const ControlRecord* control = nullptr;
};

// Decodes records of pitwall.telemetry. One message object, one Batch and one scratch are reused by
// all calls, so that a frame costs no allocation and its values no copy: the spans of its frames
// point into them until the next Decode. Not thread-safe: one decoder per thread.
//
// Decode refuses, with InvalidArgument and a reason that names the place ("frames[2]: …"), never
// with a crash:
//  * bytes that are cut short, not this message, or text in them that is not UTF-8;
//  * neither or an unknown body; an empty job, source or boot id; a job id that begins with "__";
//    sequence 0, or one below the first;
//    no source info or an unknown kind; a rank source without rank;
//  * a schema whose id is not SchemaId(stream, series); a series twice in one schema; the same
//  schema twice; an empty
//    metric or label name (any other UTF-8 without control characters is a name, as in Prometheus
//    3), "__name__" as a label, a label twice, an empty label value;
//  * times of a frame that are not strictly ascending or overflow; steps that are negative,
//  overflow, are not as
//    many as the times, or come without a mode; values that are not ticks * columns (where the
//    schema is in the same record; else not a multiple of the ticks);
//  * spans, job events, step promises of an unknown kind, or with a negative duration;
//  * anything beyond the limits.
// Doubles keep their bits, so marked NaNs survive. A frame's schema need not be in the same record.
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

// Encodes records with one reused message object: for a caller that encodes many. Not thread-safe.
// The same value gives the same bytes, on every machine. Nothing is checked: times are written as
// they are.
class BatchEncoder {
 public:
  BatchEncoder();
  ~BatchEncoder();
  BatchEncoder(BatchEncoder&&) noexcept;
  BatchEncoder& operator=(BatchEncoder&&) noexcept;

  // Replaces *out.
  void Encode(const Batch& batch, std::string* out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same, once. Replaces *out.
void EncodeBatch(const Batch& batch, std::string* out);
void EncodeControl(const ControlRecord& control, std::string* out);

}  // namespace pitwall::codec
