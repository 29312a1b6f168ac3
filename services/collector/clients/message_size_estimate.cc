#include "services/collector/clients/message_size_estimate.h"

#include <google/protobuf/io/coded_stream.h>

#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

namespace pb = ::google::protobuf;

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

uint32_t WireTypeOf(const pb::FieldDescriptor& field) {
  switch (field.type()) {
    case pb::FieldDescriptor::TYPE_MESSAGE:
    case pb::FieldDescriptor::TYPE_STRING:
    case pb::FieldDescriptor::TYPE_BYTES:
      return kLength;
    case pb::FieldDescriptor::TYPE_DOUBLE:
    case pb::FieldDescriptor::TYPE_FIXED64:
    case pb::FieldDescriptor::TYPE_SFIXED64:
      return kFixed64;
    case pb::FieldDescriptor::TYPE_FLOAT:
    case pb::FieldDescriptor::TYPE_FIXED32:
    case pb::FieldDescriptor::TYPE_SFIXED32:
      return kFixed32;
    default:
      return kVarint;
  }
}

// Adds the number of parts in one message to `parts`. Returns false if the bytes are not a message
// of this type. The type limits the recursion depth.
bool Count(const pb::Descriptor& type, size_t limit, pb::io::CodedInputStream* in, size_t* parts) {
  while (in->BytesUntilLimit() != 0 && *parts <= limit) {
    uint32_t tag, length;
    uint64_t number;
    if (!in->ReadVarint32(&tag)) return false;
    const uint32_t wire = tag & 7;
    const pb::FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
    if (field != nullptr && WireTypeOf(*field) != wire) field = nullptr;  // same as in the parser
    const bool message = field != nullptr && field->type() == pb::FieldDescriptor::TYPE_MESSAGE;
    if (message || field == nullptr) ++*parts;
    switch (wire) {
      case kVarint:
        if (!in->ReadVarint64(&number)) return false;
        break;
      case kFixed64:
        if (!in->Skip(8)) return false;
        break;
      case kFixed32:
        if (!in->Skip(4)) return false;
        break;
      case kLength: {
        if (!in->ReadVarint32(&length) ||
            static_cast<int64_t>(length) > static_cast<int64_t>(in->BytesUntilLimit()))
          return false;
        if (!message) {
          if (!in->Skip(static_cast<int>(length))) return false;
          break;
        }
        const auto outer = in->PushLimit(static_cast<int>(length));
        if (!Count(*field->message_type(), limit, in, parts)) return false;
        in->PopLimit(outer);
        break;
      }
      default:  // groups, which valid clients never send; their contents are not counted
        return false;
    }
  }
  return true;
}

}  // namespace

Status CheckParts(const pb::Descriptor& type, std::string_view bytes, size_t limit) {
  pb::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                              static_cast<int>(bytes.size()));
  in.PushLimit(static_cast<int>(bytes.size()));
  size_t parts = 0;
  if (!Count(type, limit, &in, &parts))
    return InvalidArgument(Cat("not a ", type.name(), " (", bytes.size(), " bytes)"));
  if (parts > limit) {
    return InvalidArgument(Cat(type.name(), " has too many submessages and unknown fields (limit ",
                               limit, "; message size ", bytes.size(), " bytes)"));
  }
  return OkStatus();
}

}  // namespace pitwall::collector
