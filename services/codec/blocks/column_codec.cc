#include "services/codec/blocks/column_codec.h"

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/base/wrapping.h"
#include "services/codec/blocks/prediction.h"
#include "services/codec/blocks/varint.h"
#include "services/codec/blocks/zstd_text.h"

namespace pitwall::blocks {
namespace {

// Flags in the first byte of the body; 0 means plain.
constexpr uint64_t kZstd = 1;
constexpr uint64_t kExpected = 2;  // prediction errors

// Returns the largest power of 1000, up to 10^9, that divides all entries. It corresponds to the
// unit ns, µs, ms, or s.
int64_t UnitOf(std::span<const int64_t> column) {
  int64_t unit = 1'000'000'000;
  for (const int64_t v : column) {
    while (v % unit != 0) unit /= 1000;
    if (unit == 1) break;
  }
  return unit;
}

}  // namespace

Status EncodeColumn(std::span<const int64_t> column, std::string* out, ColumnEffort effort) {
  if (column.size() > kMaxColumnEntries) {
    return InvalidArgument(
        Cat("column: has ", column.size(), " entries; the limit is ", kMaxColumnEntries));
  }
  BinaryWriter head;
  head.U64(column.size());
  if (column.empty()) {
    *out += head.data();
    return OkStatus();
  }
  const int64_t unit = UnitOf(column);
  BinaryWriter body;
  int64_t before = 0;
  int64_t difference = 0;
  for (const int64_t entry : column) {
    const int64_t now = Minus(entry / unit, before);
    body.I64(Minus(now, difference));
    before = entry / unit;
    difference = now;
  }
  ASSIGN_OR_RETURN(const std::string packed, Pack(body.data()));
  const bool smaller = packed.size() < body.data().size();
  const size_t bytes = smaller ? packed.size() : body.data().size();
  head.U64(static_cast<uint64_t>(unit));
  if (effort == ColumnEffort::kSmall && bytes * 2 > column.size() * 3) {
    std::vector<int64_t> units(column.begin(), column.end());
    for (int64_t& entry : units) entry /= unit;
    std::string expected;
    WriteExpected(units, &expected);
    if (expected.size() < bytes) {
      head.U64(kExpected);
      head.U64(expected.size());
      head.Str(expected);
      *out += head.data();
      return OkStatus();
    }
  }
  head.U64(smaller ? kZstd : 0);
  head.U64(body.data().size());
  head.Str(smaller ? packed : body.data());
  *out += head.data();
  return OkStatus();
}

Status DecodeColumn(std::string_view bytes, std::vector<int64_t>* out) {
  BinaryReader in(bytes);
  const uint64_t count = in.U64();
  if (count == 0) return in.Finish("column");
  const auto unit = static_cast<int64_t>(in.U64());
  const uint64_t flags = in.U64();
  const uint64_t size = in.U64();
  std::string_view body = in.StrView();
  RETURN_IF_ERROR(in.Finish("column"));
  // An entry takes 1 to 10 bytes. With prediction, it takes at least one bit.
  const uint64_t least = flags == kExpected ? count / 8 : count;
  if (count > kMaxColumnEntries || size < least || (flags <= kZstd && size > count * 10) ||
      flags > kExpected || unit < 1 || unit > 1'000'000'000) {
    return DataLoss(Cat("column: malformed header (", count, " entries, ", size, " bytes)"));
  }
  std::string unpacked;
  if (flags == kZstd) {
    ASSIGN_OR_RETURN(unpacked, Unpack(body, size, "column"));
    if (unpacked.size() != size) {
      return DataLoss(Cat("column: has ", unpacked.size(), " bytes instead of ", size));
    }
    body = unpacked;
  } else if (body.size() != size) {
    return DataLoss(Cat("column: has ", body.size(), " bytes instead of ", size));
  }
  const size_t before = out->size();
  const auto in_ns = [unit](int64_t entry) {
    return static_cast<int64_t>(static_cast<uint64_t>(entry) * static_cast<uint64_t>(unit));
  };
  if (flags == kExpected) {
    out->resize(before + count);
    const std::span<int64_t> to(out->data() + before, count);
    RETURN_IF_ERROR(Annotate(ReadExpected(body, to), "column"));
    for (int64_t& entry : to) entry = in_ns(entry);
    return OkStatus();
  }
  const auto* at = reinterpret_cast<const uint8_t*>(body.data());
  const uint8_t* const end = at + body.size();
  int64_t entry = 0;
  int64_t difference = 0;
  out->resize(before + count);
  int64_t* to = out->data() + before;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t change = 0;
    if (!ReadVarint(&at, end, &change)) {
      out->resize(before + i);
      return DataLoss(Cat("column: truncated in entry ", i, " of ", count));
    }
    difference = Plus(difference, change);
    entry = Plus(entry, difference);
    *to++ = in_ns(entry);
  }
  if (at != end) return DataLoss(Cat("column: has ", end - at, " trailing bytes"));
  return OkStatus();
}

}  // namespace pitwall::blocks
