#include "services/codec/schema_cache.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

#include "pitwall/telemetry/v1/telemetry.pb.h"
#include "services/base/text/stable_hash.h"

namespace pitwall::codec {
namespace {

namespace pb = ::pitwall::telemetry::v1;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Calls use(field number, whole field, contents if length-delimited) for each field of a message.
// Returns false if the bytes are not a valid message.
template <typename Use>
bool ForEachField(std::string_view bytes, Use use) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  while (static_cast<size_t>(in.CurrentPosition()) < bytes.size()) {
    const auto begin = static_cast<size_t>(in.CurrentPosition());
    const uint32_t tag = in.ReadTag();
    if (tag == 0) return false;
    std::string_view contents;
    if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      uint32_t length = 0;
      if (!in.ReadVarint32(&length)) return false;
      const auto at = static_cast<size_t>(in.CurrentPosition());
      if (length > bytes.size() - at) return false;
      contents = bytes.substr(at, length);
      if (!in.Skip(static_cast<int>(length))) return false;
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return false;
    }
    const auto end = static_cast<size_t>(in.CurrentPosition());
    if (!use(WireFormatLite::GetTagFieldNumber(tag), bytes.substr(begin, end - begin), contents))
      return false;
  }
  return true;
}

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}

}  // namespace

std::shared_ptr<const Schema> SchemaCache::Find(std::string_view bytes) const {
  const auto found = entries_.find(StableHash64(bytes));
  return found != entries_.end() && found->second.bytes == bytes ? found->second.schema.lock()
                                                                 : nullptr;
}

void SchemaCache::Add(std::string_view bytes, std::shared_ptr<const Schema> schema) {
  if (bytes_ + bytes.size() > kMaxBytes) LetGo();
  bytes_ += bytes.size();
  Entry& entry = entries_[StableHash64(bytes)];
  if (entry.bytes != bytes) entry.bytes = bytes;
  entry.schema = schema;
  entry.held = std::move(schema);
}

void SchemaCache::LetGo() {
  for (auto& [hash, entry] : entries_) entry.held = nullptr;
  absl::erase_if(entries_, [](const auto& known) { return known.second.schema.expired(); });
  bytes_ = 0;
}

bool TakeSchemas(std::string_view record, std::string* rest, std::vector<std::string_view>* found) {
  found->clear();
  rest->clear();
  std::string_view batch;
  const bool one_batch =
      ForEachField(record, [&](int number, std::string_view whole, std::string_view contents) {
        if (number == pb::TelemetryRecord::kControlFieldNumber) return false;
        if (number != pb::TelemetryRecord::kBatchFieldNumber) {  // written by a newer version
          rest->append(whole);
          return true;
        }
        const bool first = batch.data() == nullptr && contents.data() != nullptr;
        batch = contents;
        return first;
      });
  if (!one_batch || batch.data() == nullptr) return false;
  // The parts between the schemas stay unchanged.
  std::vector<std::string_view> parts;
  size_t size = 0;
  const bool whole_batch =
      ForEachField(batch, [&](int number, std::string_view whole, std::string_view contents) {
        if (number == pb::TelemetryBatch::kSchemasFieldNumber && contents.data() != nullptr) {
          found->push_back(contents);
          return true;
        }
        if (!parts.empty() && parts.back().data() + parts.back().size() == whole.data()) {
          parts.back() = {parts.back().data(), parts.back().size() + whole.size()};
        } else {
          parts.push_back(whole);
        }
        size += whole.size();
        return true;
      });
  if (!whole_batch) {
    found->clear();
    return false;
  }
  AppendVarint(WireFormatLite::MakeTag(pb::TelemetryRecord::kBatchFieldNumber,
                                       WireFormatLite::WIRETYPE_LENGTH_DELIMITED),
               rest);
  AppendVarint(size, rest);
  for (const std::string_view part : parts) rest->append(part);
  return true;
}

}  // namespace pitwall::codec
