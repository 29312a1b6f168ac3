#include "services/history/segments/segment_meta.h"

namespace pitwall::history {
namespace {
// State of a segment's raw samples. Older versions do not store the time when the samples were
// dropped.
enum Rows : uint8_t { kWithoutRows = 0, kWithRows = 1, kRowsDroppedAt = 2 };
}  // namespace

void SegmentMeta::Save(BinaryWriter& out) const {
  out.Str(job);
  out.I64(window_ns);
  out.U64(generation);
  out.U64(bytes);
  out.U64(footer_crc);
  out.U64(samples);
  out.I64(least_start_ns);
  out.U8(has_rows ? kWithRows : dropped_ns == 0 ? kWithoutRows : kRowsDroppedAt);
  if (!has_rows && dropped_ns != 0) out.I64(dropped_ns);
}

void SegmentMeta::Restore(BinaryReader& in) {
  job = in.Str();
  window_ns = in.I64();
  generation = in.U64();
  bytes = in.U64();
  footer_crc = static_cast<uint32_t>(in.U64());
  samples = in.U64();
  least_start_ns = in.I64();
  const uint8_t rows = in.U8();
  if (rows > kRowsDroppedAt) in.Fail();
  has_rows = rows == kWithRows;
  dropped_ns = rows == kRowsDroppedAt ? in.I64() : 0;
}

}  // namespace pitwall::history
