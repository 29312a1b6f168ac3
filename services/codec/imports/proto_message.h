// Reader of protobuf's wire format, for public schemas of which an importer needs a few fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pitwall::imports {

// Field of a message. `text` refers to the bytes of the message.
struct ProtoField {
  uint32_t number = 0;
  bool bytes = false;     // otherwise the field is a number
  uint64_t value = 0;     // value of a varint or fixed-width field
  std::string_view text;  // value of a length-delimited field
};

// Iterator over the fields of one message in protobuf's wire format.
class ProtoMessage {
 public:
  explicit ProtoMessage(std::string_view bytes) : rest_(bytes) {}

  // Returns false at the end, or if the bytes are malformed (see ok()).
  bool Next(ProtoField* field) {
    if (rest_.empty() || !ok_) return false;
    uint64_t tag = 0;
    if (!Varint(&tag)) return false;
    *field = ProtoField();
    field->number = static_cast<uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        return Varint(&field->value);
      case 1:
        return Fixed(8, &field->value);
      case 5:
        return Fixed(4, &field->value);
      case 2: {
        uint64_t length = 0;
        if (!Varint(&length)) return false;
        if (length > rest_.size()) return ok_ = false;
        field->bytes = true;
        field->text = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return true;
      }
      default:
        return ok_ = false;
    }
  }
  bool ok() const { return ok_; }
  const char* at() const { return rest_.data(); }

 private:
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return ok_ = false;
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return ok_ = false;
  }
  bool Fixed(size_t size, uint64_t* value) {
    if (rest_.size() < size) return ok_ = false;
    *value = 0;
    for (size_t i = size; i-- > 0;) *value = *value << 8 | static_cast<uint8_t>(rest_[i]);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace pitwall::imports
