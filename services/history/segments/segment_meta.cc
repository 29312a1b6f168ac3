#include "services/history/segments/segment_meta.h"

namespace pitwall::history {
namespace {
// State of a segment's raw samples. Older versions do not store the time when the samples were
// dropped.
enum Rows : uint8_t { kWithoutRows = 0, kWithRows = 1, kRowsDroppedAt = 2 };
}  // namespace

void SegmentMeta::Save(BinaryWriter& out) const {
  Put(*this, &out);
  out.U8(has_rows ? kWithRows : dropped_ns == 0 ? kWithoutRows : kRowsDroppedAt);
  if (!has_rows && dropped_ns != 0) out.I64(dropped_ns);
}

void SegmentMeta::Restore(BinaryReader& in) {
  Take(&in, this);
  const uint8_t rows = in.U8();
  if (rows > kRowsDroppedAt) in.Fail();
  has_rows = rows == kWithRows;
  dropped_ns = rows == kRowsDroppedAt ? in.I64() : 0;
}

}  // namespace pitwall::history
