// Iterator over the fields of a protobuf message, for messages that are too large to be parsed as a
// whole. The schemas are in proto/pitwall/foreign.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pitwall::imports {

// Fields of one message. All views refer to the bytes of the message, which must be shorter than
// 2 GiB. Not thread-safe.
class MessageFields {
 public:
  explicit MessageFields(std::string_view bytes)
      : bytes_(bytes),
        in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  // Moves to the next field. Returns false at the end, or if the bytes are malformed (see ok()).
  bool Next() {
    begin_ = at();
    if (!ok_ || begin_ == bytes_.size()) return false;
    const uint32_t tag = in_.ReadTag();
    number_ = static_cast<int>(tag >> 3);
    value_.reset();
    return ok_ = number_ != 0 && SkipValue(tag & 7);
  }
  int number() const { return number_; }
  // Returns the field with its tag. It is a valid message with only this field.
  std::string_view whole() const { return bytes_.substr(begin_, at() - begin_); }
  // Returns the contents of a length-delimited field, such as a message or a string.
  std::optional<std::string_view> value() const { return value_; }

  bool ok() const { return ok_; }
  // Returns the position in the message at which reading stopped.
  size_t at() const { return static_cast<size_t>(in_.CurrentPosition()); }

 private:
  bool SkipValue(uint32_t wire_type) {
    uint64_t number = 0;
    switch (wire_type) {
      case 0:
        return in_.ReadVarint64(&number);
      case 1:
        return in_.Skip(8);
      case 2:
        if (!in_.ReadVarint64(&number) || number > bytes_.size() - at()) return false;
        value_ = bytes_.substr(at(), static_cast<size_t>(number));
        return in_.Skip(static_cast<int>(number));
      case 5:
        return in_.Skip(4);
      default:
        return false;
    }
  }

  const std::string_view bytes_;
  google::protobuf::io::CodedInputStream in_;
  size_t begin_ = 0;
  int number_ = 0;
  std::optional<std::string_view> value_;
  bool ok_ = true;
};

}  // namespace pitwall::imports
