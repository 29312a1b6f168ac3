#include "services/collector/publishing/client_cursors.h"

#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

constexpr uint8_t kFormat = 2;
constexpr uint8_t kWithoutRank = 1;  // format of the previous version

void Write(const ClientCursor& cursor, BinaryWriter* out) {
  out->Str(cursor.job);
  out->Str(cursor.source);
  out->Str(cursor.boot_id);
  out->U64(cursor.received);
  out->U64(cursor.written);
  out->U64(cursor.batch);
  out->I64(cursor.promise_ns);
  if (cursor.rank.has_value()) out->Str(*cursor.rank);
}

ClientCursor Read(BinaryReader* in, uint8_t format) {
  ClientCursor cursor;
  cursor.job = in->Str();
  cursor.source = in->Str();
  cursor.boot_id = in->Str();
  cursor.received = in->U64();
  cursor.written = in->U64();
  cursor.batch = in->U64();
  cursor.promise_ns = in->I64();
  if (format == kFormat) cursor.rank = in->Str();
  return cursor;
}

}  // namespace

std::string EncodeCursor(const ClientCursor& cursor) {
  BinaryWriter out;
  out.U8(cursor.rank.has_value() ? kFormat : kWithoutRank);
  Write(cursor, &out);
  return out.Take();
}

std::optional<ClientCursor> DecodeCursor(std::string_view note) {
  BinaryReader in(note);
  const uint8_t format = in.U8();
  if (format != kFormat && format != kWithoutRank) return std::nullopt;
  ClientCursor cursor = Read(&in, format);
  if (!in.Finish("cursor").ok()) return std::nullopt;
  return cursor;
}

bool ClientCursors::Put(ClientCursor cursor) {
  Key key(cursor.job, cursor.source, cursor.boot_id);
  Entry& entry = entries_[key];
  if (entry.moved != 0 && cursor.batch <= entry.cursor.batch) return false;
  by_move_.erase(entry.moved);
  if (!cursor.rank.has_value()) cursor.rank = std::move(entry.cursor.rank);
  entry.cursor = std::move(cursor);
  entry.moved = ++version_;
  by_move_.emplace(entry.moved, std::move(key));
  if (entries_.size() > most_) {
    const auto oldest = by_move_.begin();
    entries_.erase(oldest->second);
    by_move_.erase(oldest);
  }
  return true;
}

void ClientCursors::Advance(std::string_view note) {
  if (note.empty()) return;
  std::optional<ClientCursor> cursor = DecodeCursor(note);
  if (!cursor.has_value()) return;
  std::function<void()> call;
  {
    MutexLock lock(&mutex_);
    if (!Put(*std::move(cursor))) return;
    call = on_advance_;
  }
  if (call != nullptr) call();
}

std::optional<ClientCursor> ClientCursors::Find(const std::string& job, const std::string& source,
                                                const std::string& boot_id) const {
  MutexLock lock(&mutex_);
  const auto it = entries_.find(Key(job, source, boot_id));
  if (it == entries_.end()) return std::nullopt;
  return it->second.cursor;
}

void ClientCursors::EndOthers(const std::string& job, const std::string& source,
                              const std::string& boot_id) {
  MutexLock lock(&mutex_);
  for (auto it = entries_.lower_bound(Key(job, source, ""));
       it != entries_.end() && std::get<0>(it->first) == job && std::get<1>(it->first) == source;
       ++it) {
    if (std::get<2>(it->first) != boot_id) it->second.cursor.rank = "";
  }
}

void ClientCursors::EndJob(const std::string& job) {
  MutexLock lock(&mutex_);
  for (auto it = entries_.lower_bound(Key(job, "", ""));
       it != entries_.end() && std::get<0>(it->first) == job; ++it) {
    it->second.cursor.rank = "";
  }
}

std::vector<ClientCursor> ClientCursors::Ranks() const {
  std::vector<ClientCursor> ranks;
  MutexLock lock(&mutex_);
  for (const auto& [moved, key] : by_move_) {
    const ClientCursor& cursor = entries_.at(key).cursor;
    if (cursor.rank.has_value() && !cursor.rank->empty()) ranks.push_back(cursor);
  }
  return ranks;
}

uint64_t ClientCursors::version() const {
  MutexLock lock(&mutex_);
  return version_;
}

void ClientCursors::OnAdvance(std::function<void()> call) {
  MutexLock lock(&mutex_);
  on_advance_ = std::move(call);
}

std::string ClientCursors::Save() const {
  BinaryWriter out;
  MutexLock lock(&mutex_);
  out.U8(kFormat);
  out.U64(by_move_.size());
  for (const auto& [moved, key] : by_move_) {
    ClientCursor cursor = entries_.at(key).cursor;
    if (!cursor.rank.has_value()) cursor.rank.emplace();
    Write(cursor, &out);
  }
  std::string bytes = out.Take();
  const uint32_t crc = Crc32c(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(crc >> (8 * i)));
  return bytes;
}

Status ClientCursors::Restore(std::string_view bytes) {
  if (bytes.size() < 4) return DataLoss("client cursors: truncated");
  uint32_t crc = 0;
  for (size_t i = 0; i < 4; ++i) {
    crc |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[bytes.size() - 4 + i])) << 8 * i;
  }
  bytes.remove_suffix(4);
  if (Crc32c(bytes) != crc) return DataLoss("client cursors: checksum mismatch");
  BinaryReader in(bytes);
  const uint8_t format = in.U8();
  if (format != kFormat && format != kWithoutRank) {
    return DataLoss(Cat("client cursors: unsupported format ", int{format}, " (this version reads ",
                        int{kWithoutRank}, " and ", int{kFormat}, ")"));
  }
  std::vector<ClientCursor> all(in.Count(7));
  for (ClientCursor& cursor : all) {
    cursor = Read(&in, format);
    if (cursor.rank.has_value() && cursor.rank->empty()) cursor.rank.reset();
  }
  RETURN_IF_ERROR(in.Finish("client cursors"));
  MutexLock lock(&mutex_);
  for (ClientCursor& cursor : all) Put(std::move(cursor));
  return OkStatus();
}

}  // namespace pitwall::collector
