#include "services/codec/blocks/block_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/codec/blocks/zstd_text.h"

namespace pitwall::blocks {
namespace {

// Number of blocks between full comparisons of all forms.
constexpr uint8_t kTrialEvery = 32;
constexpr std::array<Form, 5> kForms = {Form::kDictionary, Form::kDecimal, Form::kExpected,
                                        Form::kXor, Form::kPlanes};

}  // namespace

bool BlockEncoder::Write(Form form, std::string* body) {
  switch (form) {
    case Form::kConstant:
      return false;
    case Form::kDictionary:
      return WriteDictionary(bits_, &distinct_, body);
    case Form::kDecimal:
      return WriteDecimal(bits_, &integers_, body);
    case Form::kXor:
      WriteXor(bits_, body);
      return true;
    case Form::kPlanes:
      WritePlanes(bits_, body);
      return true;
    case Form::kExpected:
      return WriteExpectedDecimal(bits_, &integers_, body);
  }
  return false;
}

// Keeps the block in this form if it is smaller than the best so far.
Status BlockEncoder::Offer(Form form, bool* fits) {
  *fits = Write(form, &body_);
  if (!*fits) return OkStatus();
  bool packed = false;
  if (form != Form::kExpected) {  // zstd would not help, because the bits do not repeat
    RETURN_IF_ERROR(PackInto(body_, &compressed_));
    packed = compressed_.size() + 2 < body_.size();
  }
  BinaryWriter head;
  head.U8(static_cast<uint8_t>(form));
  head.U8(packed ? kZstdFlag : 0);
  head.U64(bits_.size());
  if (packed) head.U64(body_.size());
  candidate_ = head.Take();
  candidate_ += packed ? compressed_ : body_;
  if (best_.empty() || candidate_.size() < best_.size()) {
    std::swap(best_, candidate_);
    best_form_ = form;
  }
  return OkStatus();
}

Status BlockEncoder::Encode(std::span<const double> values, FormHint* hint, std::string* out) {
  if (values.empty() || values.size() > kMaxBlockValues) {
    return InvalidArgument(
        Cat("block: must have 1 to ", kMaxBlockValues, " values (got ", values.size(), ")"));
  }
  bits_.resize(values.size());
  std::memcpy(bits_.data(), values.data(), values.size_bytes());
  if (std::all_of(bits_.begin(), bits_.end(), [&](uint64_t b) { return b == bits_[0]; })) {
    BinaryWriter block;
    block.U8(static_cast<uint8_t>(Form::kConstant));
    block.U8(0);
    block.U64(bits_.size());
    block.Double(values[0]);
    *out += block.data();
    return OkStatus();
  }
  best_.clear();
  bool fits = false;
  bool trial = hint == nullptr || hint->blocks == 0 || hint->blocks >= kTrialEvery;
  if (!trial) {
    RETURN_IF_ERROR(Offer(hint->form, &fits));
    // A series is considered changed if a block needs at least a third more or a quarter fewer
    // bytes per value than before.
    const uint64_t now = best_.size() * 1000;
    const uint64_t before = uint64_t{hint->millibytes} * values.size();
    trial = !fits || now * 3 > before * 4 || now * 4 < before * 3;
  }
  if (trial) {
    bool integers = fits && hint->form == Form::kDecimal;
    for (const Form form : kForms) {
      if (fits && form == hint->form) continue;  // this form was already tried
      // Below one byte per value, the data is repetitive and zstd compresses it better.
      if (form == Form::kExpected && (!integers || best_.size() < values.size())) continue;
      bool fitted = false;
      RETURN_IF_ERROR(Offer(form, &fitted));
      integers = integers || (form == Form::kDecimal && fitted);
    }
  }
  if (hint != nullptr) {
    hint->form = best_form_;
    hint->blocks = trial ? 1 : static_cast<uint8_t>(hint->blocks + 1);
    if (trial) hint->millibytes = static_cast<uint32_t>(best_.size() * 1000 / values.size());
  }
  *out += best_;
  return OkStatus();
}

}  // namespace pitwall::blocks
