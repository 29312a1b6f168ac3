#include "services/notifier/feed/resume_token.h"

#include "absl/strings/escaping.h"
#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::notifier {
namespace {

constexpr uint8_t kResumeVersion = 1;
constexpr uint8_t kPageVersion = 65;
constexpr size_t kMaxTokenBytes = 64 * 1024;

std::string Seal(BinaryWriter* body) {
  std::string bytes = body->Take();
  const uint32_t sum = Crc32c(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(sum >> (8 * i)));
  return absl::WebSafeBase64Escape(bytes);
}

StatusOr<std::string> Unseal(std::string_view token) {
  std::string bytes;
  if (token.size() > kMaxTokenBytes || !absl::WebSafeBase64Unescape(ToAbsl(token), &bytes) ||
      bytes.size() < 5) {
    return InvalidArgument("resume_token: malformed");
  }
  uint32_t sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    sum |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[bytes.size() - 4 + i]))
           << (8 * i);
  }
  bytes.resize(bytes.size() - 4);
  if (Crc32c(bytes) != sum) return InvalidArgument("resume_token: checksum mismatch");
  return bytes;
}

}  // namespace

std::string EncodeResumeToken(std::string_view topic, const Positions& positions) {
  BinaryWriter out;
  out.U8(kResumeVersion);
  out.U64(StableHash64(topic));
  out.I64s(positions);
  return Seal(&out);
}

StatusOr<Positions> DecodeResumeToken(std::string_view topic, int32_t partitions,
                                      std::string_view token) {
  ASSIGN_OR_RETURN(const std::string bytes, Unseal(token));
  BinaryReader in(bytes);
  if (in.U8() != kResumeVersion) return InvalidArgument("token: unknown kind or version");
  const uint64_t hash = in.U64();
  Positions positions = in.I64s();
  RETURN_IF_ERROR(in.Finish("token"));
  if (hash != StableHash64(topic)) return InvalidArgument("resume_token: belongs to another topic");
  if (positions.size() > static_cast<size_t>(partitions)) {
    return InvalidArgument(
        Cat("resume_token: has ", positions.size(), " partitions, but the topic has ", partitions));
  }
  for (const int64_t position : positions) {
    if (position < 0) return InvalidArgument("resume_token: has a negative offset");
  }
  positions.resize(static_cast<size_t>(partitions), 0);
  return positions;
}

std::string EncodePageToken(const PageCursor& cursor) {
  BinaryWriter out;
  out.U8(kPageVersion);
  out.I64(cursor.active_since_ns);
  out.Str(cursor.issue);
  out.Str(cursor.resume_token);
  return Seal(&out);
}

StatusOr<PageCursor> DecodePageToken(std::string_view token) {
  ASSIGN_OR_RETURN(const std::string bytes, Unseal(token));
  BinaryReader in(bytes);
  if (in.U8() != kPageVersion) return InvalidArgument("token: unknown kind or version");
  PageCursor cursor;
  cursor.active_since_ns = in.I64();
  cursor.issue = in.Str();
  cursor.resume_token = in.Str();
  RETURN_IF_ERROR(in.Finish("token"));
  return cursor;
}

}  // namespace pitwall::notifier
