#include "services/codec/snapshot_codec.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "pitwall/state/v1/state.pb.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/quiet_protobuf.h"

namespace pitwall::codec {
namespace {

constexpr size_t kNameBytes = 1024;
// Space for every field except the payload, with names of maximum length.
constexpr size_t kHeaderBytes = 2 * kNameBytes + 128;
constexpr size_t kPieceBytes = kSnapshotChunkBytes - kHeaderBytes;
constexpr int kCompressionLevel = 1;  // snapshots are written every minute; prefer speed

std::string PlaceOf(std::string_view job, int64_t offset) {
  return Cat("snapshot of job ", Quote(job), " at offset ", offset);
}

// Returns the CRC of the header fields and the piece's CRC.
uint32_t HeaderCrc(const state::v1::SnapshotChunk& chunk) {
  return Crc32c(Cat(chunk.job(), "\n", chunk.offset(), " ", chunk.chunks(), " ", chunk.index(), " ",
                    chunk.format(), " ", chunk.payload_crc32c(), " ", chunk.uncompressed_bytes(),
                    " ", chunk.rule_set_hash()));
}

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Compresses the payload into one zstd frame that contains its content size, and splits the frame
// into pieces.
StatusOr<std::vector<std::string>> Compress(std::string_view payload) {
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  if (context == nullptr) return ResourceExhausted("zstd: out of memory");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setPledgedSrcSize(context.get(), payload.size());
  ZSTD_inBuffer in{payload.data(), payload.size(), 0};
  std::vector<std::string> pieces;
  for (;;) {
    std::string piece(kPieceBytes, '\0');
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    size_t left = 1;
    while (left != 0 && out.pos < out.size) {
      left = ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_end);
      if (ZSTD_isError(left)) return ResourceExhausted(Cat("zstd: ", ZSTD_getErrorName(left)));
    }
    piece.resize(out.pos);
    piece.shrink_to_fit();
    if (!piece.empty()) pieces.push_back(std::move(piece));
    if (left == 0) return pieces;
  }
}

}  // namespace

StatusOr<std::vector<std::string>> SplitSnapshot(std::string_view job, int64_t offset,
                                                 std::string_view rule_set_hash, uint32_t format,
                                                 std::string_view payload,
                                                 const SnapshotLimits& limits) {
  if (job.empty()) return InvalidArgument("snapshot: job is empty");
  if (job.size() > kNameBytes || rule_set_hash.size() > kNameBytes) {
    return InvalidArgument(
        Cat("snapshot: job and rule set hash must each be at most ", kNameBytes, " bytes long"));
  }
  if (payload.size() > limits.uncompressed_bytes) {
    return ResourceExhausted(Cat(PlaceOf(job, offset), ": payload is ", payload.size(),
                                 " bytes long; the limit is ", limits.uncompressed_bytes));
  }
  StatusOr<std::vector<std::string>> pieces = Compress(payload);
  if (!pieces.ok()) return Annotate(pieces.status(), PlaceOf(job, offset));
  const size_t count = pieces->size();

  state::v1::SnapshotChunk chunk;
  chunk.set_job(job.data(), job.size());
  chunk.set_offset(offset);
  chunk.set_chunks(static_cast<uint32_t>(count));
  chunk.set_format(format);
  chunk.set_rule_set_hash(rule_set_hash.data(), rule_set_hash.size());
  chunk.set_uncompressed_bytes(payload.size());
  std::vector<std::string> out(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string& piece = (*pieces)[i];
    chunk.set_index(static_cast<uint32_t>(i));
    chunk.set_payload(piece);
    chunk.set_payload_crc32c(Crc32c(piece));
    chunk.set_header_crc32c(HeaderCrc(chunk));
    chunk.SerializeToString(&out[i]);
  }
  return out;
}

StatusOr<std::string> UnpackSnapshot(const Snapshot& snapshot) {
  const std::string place = PlaceOf(snapshot.job, snapshot.offset);
  if (snapshot.pieces.empty()) return DataLoss(Cat(place, ": has no payload"));
  const std::string& first = snapshot.pieces[0];
  const unsigned long long stated = ZSTD_getFrameContentSize(first.data(), first.size());
  if (stated == ZSTD_CONTENTSIZE_ERROR)
    return DataLoss(Cat(place, ": the payload is not a zstd frame"));
  // Checks the length in the payload before allocating that much memory.
  if (stated != snapshot.payload_bytes) {
    return DataLoss(Cat(place,
                        ": the length in the payload header does not match the expected length of ",
                        snapshot.payload_bytes, " bytes"));
  }
  const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  if (context == nullptr) return ResourceExhausted(Cat(place, ": zstd: out of memory"));
  std::string payload(snapshot.payload_bytes, '\0');
  ZSTD_outBuffer out{payload.data(), payload.size(), 0};
  size_t wanted = 1;  // 0 means that the frame is complete
  for (const std::string& piece : snapshot.pieces) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    while (in.pos < in.size) {
      const size_t before = in.pos + out.pos;
      wanted = ZSTD_decompressStream(context.get(), &out, &in);
      if (ZSTD_isError(wanted)) {
        return DataLoss(Cat(place, ": the payload is damaged: ", ZSTD_getErrorName(wanted)));
      }
      if (in.pos + out.pos == before)
        return DataLoss(Cat(place, ": the payload is longer than its header states"));
    }
  }
  if (wanted != 0 || out.pos != payload.size())
    return DataLoss(
        Cat(place, ": the payload has ", out.pos, " bytes instead of ", payload.size()));
  return payload;
}

SnapshotAssembler::SnapshotAssembler(const SnapshotLimits& limits) : limits_(limits) {
  QuietProtobuf();
}

Status SnapshotAssembler::Refuse(Pending& pending, Status why) {
  pending.pieces.clear();
  pending.refused = std::string(ToStd(why.message()));
  return why;
}

StatusOr<std::optional<Snapshot>> SnapshotAssembler::Add(std::string_view bytes) {
  // Twice the size of written chunks leaves room for another version's header, but not for a
  // decompression bomb.
  if (bytes.size() > 2 * kSnapshotChunkBytes) {
    return ResourceExhausted(Cat("snapshot chunk: too large (", bytes.size(), " bytes)"));
  }
  state::v1::SnapshotChunk chunk;
  if (!chunk.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return DataLoss(Cat("not a SnapshotChunk (", bytes.size(), " bytes)"));
  }
  if (chunk.job().empty() || chunk.job().size() > kNameBytes)
    return DataLoss("snapshot chunk: job ID is missing or too long");
  const std::string place = Cat(PlaceOf(chunk.job(), chunk.offset()), ", chunk ", chunk.index());
  if (chunk.has_header_crc32c() && chunk.header_crc32c() != HeaderCrc(chunk))
    return DataLoss(Cat(place, ": damaged header (CRC mismatch)"));
  if (chunk.chunks() == 0 || chunk.index() >= chunk.chunks()) {
    return DataLoss(Cat(place, ": invalid number of chunks (got ", chunk.chunks(), ")"));
  }
  if (chunk.uncompressed_bytes() > limits_.uncompressed_bytes) {
    return ResourceExhausted(Cat(place, ": uncompressed size is ", chunk.uncompressed_bytes(),
                                 " bytes; the limit is ", limits_.uncompressed_bytes));
  }

  const Key key{chunk.job(), chunk.offset()};
  auto it = pending_.find(key);
  if (it == pending_.end()) {
    if (pending_.size() >= limits_.pending_snapshots) {
      return ResourceExhausted(
          Cat(place, ": ", pending_.size(), " incomplete snapshots are already pending"));
    }
    it = pending_.emplace(key, Pending{}).first;
    it->second.chunks = chunk.chunks();
    it->second.format = chunk.format();
    it->second.uncompressed_bytes = chunk.uncompressed_bytes();
    it->second.rule_set_hash = chunk.rule_set_hash();
  }
  Pending& pending = it->second;
  if (!pending.refused.empty())
    return DataLoss(Cat(place, ": the snapshot was already rejected: ", pending.refused));
  // This CRC covers only the payload. Without a header CRC, a damaged header is detected only by
  // invalid lengths or by inconsistencies with other chunks.
  if (Crc32c(chunk.payload()) != chunk.payload_crc32c()) {
    return Refuse(pending, DataLoss(Cat(place, ": payload is damaged (CRC mismatch)")));
  }
  if (pending.chunks != chunk.chunks() || pending.format != chunk.format() ||
      pending.uncompressed_bytes != chunk.uncompressed_bytes() ||
      pending.rule_set_hash != chunk.rule_set_hash()) {
    return Refuse(pending, DataLoss(Cat(place, ": mixed with chunks from another snapshot")));
  }
  if (const auto twin = pending.pieces.find(chunk.index()); twin != pending.pieces.end()) {
    if (twin->second == chunk.payload()) return std::optional<Snapshot>();
    return Refuse(pending, DataLoss(Cat(place, ": two different chunks have this index")));
  }
  // Compressed state exceeds the uncompressed size by at most a few bytes of framing.
  if (pending.bytes + chunk.payload().size() >
      ZSTD_compressBound(std::max<uint64_t>(pending.uncompressed_bytes, kPieceBytes))) {
    return Refuse(pending, ResourceExhausted(Cat(place, ": has more compressed bytes than ",
                                                 pending.uncompressed_bytes,
                                                 " uncompressed bytes can produce")));
  }
  pending.bytes += chunk.payload().size();
  pending.pieces.emplace(chunk.index(), std::move(*chunk.mutable_payload()));
  if (pending.pieces.size() < pending.chunks) return std::optional<Snapshot>();

  Snapshot snapshot{.job = key.first,
                    .offset = key.second,
                    .rule_set_hash = std::move(pending.rule_set_hash),
                    .format = pending.format,
                    .payload_bytes = pending.uncompressed_bytes,
                    .pieces = {}};
  for (auto& [index, piece] : pending.pieces) snapshot.pieces.push_back(std::move(piece));
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
      CatTo(line, "rejected: ", pending.refused);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void SnapshotAssembler::Drop(std::string_view job) {
  auto it = pending_.lower_bound(Key(std::string(job), INT64_MIN));
  while (it != pending_.end() && it->first.first == job) it = pending_.erase(it);
}

}  // namespace pitwall::codec
