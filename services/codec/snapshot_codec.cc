#include "services/codec/snapshot_codec.h"

#include <zstd.h>

#include <algorithm>

#include "pitwall/state/v1/state.pb.h"
#include "services/base/stable_hash.h"
#include "services/base/strings.h"
#include "services/codec/quiet_protobuf.h"

namespace pitwall::codec {
namespace {

constexpr size_t kNameBytes = 1024;
// Room for every field but the payload, names at their longest.
constexpr size_t kHeaderBytes = 2 * kNameBytes + 128;
constexpr size_t kPieceBytes = kSnapshotChunkBytes - kHeaderBytes;
constexpr int kCompressionLevel = 1;  // snapshots are written every minute: speed before size

std::string PlaceOf(std::string_view job, int64_t offset) {
  return Cat("snapshot of job ", Quote(job), " at offset ", offset);
}

StatusOr<std::string> Decompress(std::string_view compressed, uint64_t size) {
  const unsigned long long stated = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (stated == ZSTD_CONTENTSIZE_ERROR) return DataLoss("its payload is not zstd");
  if (stated != size)
    return DataLoss(Cat("its payload does not hold the ", size, " bytes that it claims"));
  std::string out(size, '\0');
  const size_t got = ZSTD_decompress(out.data(), out.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(got)) return DataLoss(Cat("its payload is damaged: ", ZSTD_getErrorName(got)));
  if (got != size) return DataLoss(Cat("its payload has ", got, " bytes instead of ", size));
  return out;
}

}  // namespace

StatusOr<std::vector<std::string>> SplitSnapshot(std::string_view job, int64_t offset,
                                                 std::string_view rule_set_hash, uint32_t format,
                                                 std::string_view payload) {
  if (job.empty()) return InvalidArgument("snapshot: job is empty");
  if (job.size() > kNameBytes || rule_set_hash.size() > kNameBytes) {
    return InvalidArgument(
        Cat("snapshot: job or rule set hash has more than ", kNameBytes, " bytes"));
  }
  std::string compressed(ZSTD_compressBound(payload.size()), '\0');
  const size_t size = ZSTD_compress(compressed.data(), compressed.size(), payload.data(),
                                    payload.size(), kCompressionLevel);
  if (ZSTD_isError(size)) {
    return ResourceExhausted(Cat(PlaceOf(job, offset), ": zstd: ", ZSTD_getErrorName(size)));
  }
  compressed.resize(size);
  const size_t count = std::max<size_t>(1, (size + kPieceBytes - 1) / kPieceBytes);
  if (count > UINT32_MAX)
    return ResourceExhausted(Cat(PlaceOf(job, offset), ": ", count, " chunks"));

  state::v1::SnapshotChunk chunk;
  chunk.set_job(job.data(), job.size());
  chunk.set_offset(offset);
  chunk.set_chunks(static_cast<uint32_t>(count));
  chunk.set_format(format);
  chunk.set_rule_set_hash(rule_set_hash.data(), rule_set_hash.size());
  chunk.set_uncompressed_bytes(payload.size());
  std::vector<std::string> out(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view piece =
        std::string_view(compressed).substr(i * kPieceBytes, kPieceBytes);
    chunk.set_index(static_cast<uint32_t>(i));
    chunk.set_payload(piece.data(), piece.size());
    chunk.set_payload_crc32c(Crc32c(piece));
    chunk.SerializeToString(&out[i]);
  }
  return out;
}

SnapshotAssembler::SnapshotAssembler(const SnapshotLimits& limits) : limits_(limits) {
  QuietProtobuf();
}

Status SnapshotAssembler::Refuse(Pending& pending, Status why) {
  for (const auto& [index, piece] : pending.pieces) pending_bytes_ -= piece.size();
  pending.pieces.clear();
  pending.refused = std::string(ToStd(why.message()));
  return why;
}

StatusOr<std::optional<Snapshot>> SnapshotAssembler::Add(std::string_view bytes) {
  // Twice the size that we write: room for another version's header, none for a bomb.
  if (bytes.size() > 2 * kSnapshotChunkBytes) {
    return ResourceExhausted(Cat("a snapshot chunk of ", bytes.size(), " bytes"));
  }
  state::v1::SnapshotChunk chunk;
  if (!chunk.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return DataLoss(Cat("not a SnapshotChunk (", bytes.size(), " bytes)"));
  }
  if (chunk.job().empty() || chunk.job().size() > kNameBytes)
    return DataLoss("a snapshot chunk without a job id");
  const std::string place = Cat(PlaceOf(chunk.job(), chunk.offset()), ", chunk ", chunk.index());
  if (chunk.chunks() == 0 || chunk.index() >= chunk.chunks()) {
    return DataLoss(Cat(place, ": it says that there are ", chunk.chunks()));
  }
  if (chunk.uncompressed_bytes() > limits_.uncompressed_bytes) {
    return ResourceExhausted(Cat(place, ": ", chunk.uncompressed_bytes(),
                                 " bytes uncompressed, more than ", limits_.uncompressed_bytes));
  }

  const Key key{chunk.job(), chunk.offset()};
  auto it = pending_.find(key);
  if (it == pending_.end()) {
    if (pending_.size() >= limits_.pending_snapshots) {
      return ResourceExhausted(
          Cat(place, ": ", pending_.size(), " incomplete snapshots are waiting already"));
    }
    it = pending_.emplace(key, Pending{}).first;
    it->second.chunks = chunk.chunks();
    it->second.format = chunk.format();
    it->second.uncompressed_bytes = chunk.uncompressed_bytes();
    it->second.rule_set_hash = chunk.rule_set_hash();
  }
  Pending& pending = it->second;
  if (!pending.refused.empty()) return DataLoss(Cat(place, ": refused before: ", pending.refused));
  // The CRC covers the payload only; a damaged header shows by disagreeing or in the lengths.
  if (Crc32c(chunk.payload()) != chunk.payload_crc32c()) {
    return Refuse(pending, DataLoss(Cat(place, ": damaged (CRC)")));
  }
  if (pending.chunks != chunk.chunks() || pending.format != chunk.format() ||
      pending.uncompressed_bytes != chunk.uncompressed_bytes() ||
      pending.rule_set_hash != chunk.rule_set_hash()) {
    return Refuse(pending, DataLoss(Cat(place, ": mixed with chunks of another snapshot")));
  }
  if (const auto twin = pending.pieces.find(chunk.index()); twin != pending.pieces.end()) {
    if (twin->second == chunk.payload()) return std::optional<Snapshot>();
    return Refuse(pending, DataLoss(Cat(place, ": two different ones")));
  }
  if (pending_bytes_ + chunk.payload().size() > limits_.pending_bytes) {
    return Refuse(pending, ResourceExhausted(Cat(place, ": more than ", limits_.pending_bytes,
                                                 " bytes of incomplete snapshots")));
  }
  pending_bytes_ += chunk.payload().size();
  pending.pieces.emplace(chunk.index(), std::move(*chunk.mutable_payload()));
  if (pending.pieces.size() < pending.chunks) return std::optional<Snapshot>();

  std::string compressed;
  for (const auto& [index, piece] : pending.pieces) compressed += piece;
  StatusOr<std::string> payload = Decompress(compressed, pending.uncompressed_bytes);
  if (!payload.ok())
    return Refuse(pending, Annotate(payload.status(), PlaceOf(key.first, key.second)));
  pending_bytes_ -= compressed.size();
  Snapshot snapshot{key.first, key.second, std::move(pending.rule_set_hash), pending.format,
                    *std::move(payload)};
  pending_.erase(it);
  return std::optional<Snapshot>(std::move(snapshot));
}

std::vector<std::string> SnapshotAssembler::Incomplete() const {
  std::vector<std::string> lines;
  for (const auto& [key, pending] : pending_) {
    std::string line = Cat("job ", Quote(key.first), " offset ", key.second, ": ");
    if (pending.refused.empty()) {
      CatTo(line, pending.pieces.size(), " of ", pending.chunks, " chunks");
    } else {
      CatTo(line, "refused: ", pending.refused);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void SnapshotAssembler::Drop(std::string_view job) {
  auto it = pending_.lower_bound(Key(std::string(job), INT64_MIN));
  while (it != pending_.end() && it->first.first == job) {
    for (const auto& [index, piece] : it->second.pieces) pending_bytes_ -= piece.size();
    it = pending_.erase(it);
  }
}

}  // namespace pitwall::codec
