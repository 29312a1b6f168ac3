#include "services/codec/blocks/block_decoder.h"

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/codec/blocks/block_format.h"
#include "services/codec/blocks/value_forms.h"
#include "services/codec/blocks/zstd_text.h"

namespace pitwall::blocks {
namespace {

// Maximum body size. A dictionary stores the number of distinct values, those values, and a
// two-byte index per value. The bit-based forms need at most 77 bits per value.
constexpr size_t kMaxBody = kMaxBlockValues * 10 + 16;

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

}  // namespace

Status BlockDecoder::Decode(std::string_view block, std::vector<double>* out) {
  BinaryReader in(block);
  const uint8_t form = in.U8();
  const uint8_t flags = in.U8();
  const uint64_t count = in.U64();
  const uint64_t size = (flags & kZstdFlag) != 0 ? in.U64() : 0;
  if (!in.ok() || flags > kZstdFlag || count == 0 || count > kMaxBlockValues || size > kMaxBody) {
    return DataLoss(Cat("block: malformed header (form ", int{form}, ", flags ", int{flags}, ", ",
                        count, " values)"));
  }
  size_t head = 2 + VarintBytes(count);
  if ((flags & kZstdFlag) != 0) head += VarintBytes(size);
  if (head > block.size()) return DataLoss("block: malformed header (lengths are padded)");
  std::string_view body = block.substr(head);
  if ((flags & kZstdFlag) != 0) {
    body_.resize(size);
    RETURN_IF_ERROR(UnpackInto(body, body_, "block"));
    body = body_;
  }
  out->reserve(out->size() + count);
  switch (static_cast<Form>(form)) {
    case Form::kConstant: {
      BinaryReader value(body);
      out->insert(out->end(), count, value.Double());
      return value.Finish("block: constant");
    }
    case Form::kDictionary:
      return ReadDictionary(body, count, out);
    case Form::kDecimal:
      return ReadDecimal(body, count, out);
    case Form::kXor:
      return ReadXor(body, count, out);
    case Form::kPlanes:
      return ReadPlanes(body, count, out);
    case Form::kExpected:
      return ReadExpectedDecimal(body, count, out);
  }
  return DataLoss(Cat("block: unknown form ", int{form}, "; it was written by a newer version"));
}

}  // namespace pitwall::blocks
