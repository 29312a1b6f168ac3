#include "services/adapters/log/commit_frame.h"

#include <utility>

#include "services/base/binary.h"
#include "services/base/stable_hash.h"
#include "services/base/strings.h"

namespace pitwall::log {
namespace {

constexpr std::string_view kFrameMagic = "PWF1";

void StoreU32(uint32_t v, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(v >> (8 * i)));
}

uint32_t LoadU32(std::string_view bytes, size_t at) {
  uint32_t v = 0;
  for (size_t i = 0; i < 4; ++i) v |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return v;
}

void WriteKey(const PartitionKey& key, BinaryWriter& w) {
  w.U64(key.topic);
  w.U64(static_cast<uint64_t>(key.partition));
}

PartitionKey ReadKey(BinaryReader& r) {
  PartitionKey key;
  const uint64_t topic = r.U64();
  const uint64_t partition = r.U64();
  if (topic > UINT32_MAX || partition > INT32_MAX) r.Fail();
  key.topic = static_cast<uint32_t>(topic);
  key.partition = static_cast<int32_t>(partition);
  return key;
}

Status ReadPayload(std::string_view payload, Frame* frame) {
  BinaryReader r(payload);
  const uint8_t kind = r.U8();
  if (kind < static_cast<uint8_t>(FrameKind::kState) ||
      kind > static_cast<uint8_t>(FrameKind::kSynced)) {
    return DataLoss(Cat("journal frame of unknown kind ", static_cast<int>(kind)));
  }
  frame->kind = static_cast<FrameKind>(kind);
  frame->sequence = r.U64();
  frame->synced_sequence = r.U64();
  frame->ends.resize(r.Count(8));
  for (PartitionEnd& end : frame->ends) {
    end.key = ReadKey(r);
    end.segment_base = r.I64();
    end.from_bytes = r.I64();
    end.to_bytes = r.I64();
    end.from_offset = r.I64();
    end.to_offset = r.I64();
    end.last_time_ns = r.I64();
    if (end.segment_base < 0 || end.from_bytes < 0 || end.to_bytes < end.from_bytes ||
        end.from_offset < 0 || end.to_offset < end.from_offset || end.to_offset > INT64_MAX / 2) {
      r.Fail();
    }
    if (!r.ok()) break;
  }
  frame->positions.resize(r.Count(5));
  for (GroupPosition& position : frame->positions) {
    position.group = r.Str();
    position.key = ReadKey(r);
    position.at.offset = r.I64();
    position.at.metadata = r.Str();
    if (!r.ok()) break;
  }
  frame->epochs.resize(r.Count(2));
  for (CommitterEpoch& epoch : frame->epochs) {
    epoch.id = r.Str();
    epoch.epoch = r.U64();
    if (!r.ok()) break;
  }
  return r.Finish("journal frame");
}

}  // namespace

Status EncodeFrame(const Frame& frame, std::string* out) {
  BinaryWriter w;
  w.U8(static_cast<uint8_t>(frame.kind));
  w.U64(frame.sequence);
  w.U64(frame.synced_sequence);
  w.U64(frame.ends.size());
  for (const PartitionEnd& end : frame.ends) {
    WriteKey(end.key, w);
    w.I64(end.segment_base);
    w.I64(end.from_bytes);
    w.I64(end.to_bytes);
    w.I64(end.from_offset);
    w.I64(end.to_offset);
    w.I64(end.last_time_ns);
  }
  w.U64(frame.positions.size());
  for (const GroupPosition& position : frame.positions) {
    w.Str(position.group);
    WriteKey(position.key, w);
    w.I64(position.at.offset);
    w.Str(position.at.metadata);
  }
  w.U64(frame.epochs.size());
  for (const CommitterEpoch& epoch : frame.epochs) {
    w.Str(epoch.id);
    w.U64(epoch.epoch);
  }
  const std::string& payload = w.data();
  if (payload.size() > kMaxFrameBytes) {
    return ResourceExhausted(Cat("a commit over ", frame.ends.size(), " partitions needs ",
                                 payload.size(), " bytes of journal, more than ", kMaxFrameBytes));
  }
  std::string length;
  StoreU32(static_cast<uint32_t>(payload.size()), &length);
  out->append(kFrameMagic);
  out->append(length);
  StoreU32(Crc32c(payload, Crc32c(length)), out);
  out->append(payload);
  return OkStatus();
}

StatusOr<Frame> DecodeFrame(std::string_view bytes, size_t* size) {
  if (bytes.size() < kFrameHeaderBytes) return DataLoss("journal ends inside a frame");
  if (bytes.substr(0, 4) != kFrameMagic) return DataLoss("no journal frame here");
  const size_t length = LoadU32(bytes, 4);
  if (length > kMaxFrameBytes || length > bytes.size() - kFrameHeaderBytes) {
    return DataLoss("journal ends inside a frame");
  }
  const std::string_view payload = bytes.substr(kFrameHeaderBytes, length);
  if (LoadU32(bytes, 8) != Crc32c(payload, Crc32c(bytes.substr(4, 4)))) {
    return DataLoss("journal frame has a wrong checksum");
  }
  Frame frame;
  RETURN_IF_ERROR(ReadPayload(payload, &frame));
  *size = kFrameHeaderBytes + length;
  return frame;
}

std::string JournalHeader(uint64_t number) {
  std::string header(kJournalMagic);
  StoreU32(static_cast<uint32_t>(number), &header);
  StoreU32(static_cast<uint32_t>(number >> 32), &header);
  return header;
}

JournalScan ScanJournal(std::string_view content) {
  JournalScan scan;
  const auto damaged = [&scan](size_t at, std::string_view reason) {
    if (scan.damage_from >= 0) return;
    scan.damage_from = static_cast<int64_t>(at);
    scan.damage_reason = std::string(reason);
    scan.first_behind = scan.frames.size();
  };
  if (content.size() < kJournalHeaderBytes ||
      content.substr(0, kJournalMagic.size()) != kJournalMagic) {
    damaged(0, "no journal header");
  }
  size_t at = kJournalHeaderBytes;
  uint64_t last = 0;
  while (at < content.size()) {
    size_t size = 0;
    auto frame = DecodeFrame(content.substr(at), &size);
    if (frame.ok() && frame->kind != FrameKind::kState &&
        frame->kind != FrameKind::kCheckpointEnd && frame->sequence <= last) {
      frame = DataLoss("journal frame out of sequence");
    }
    if (frame.ok()) {
      last = frame->sequence;
      scan.frames.push_back(
          {*std::move(frame), static_cast<int64_t>(at), static_cast<int64_t>(at + size)});
      at += size;
      continue;
    }
    damaged(at, ToStd(frame.status().message()));
    const size_t next = content.find(kFrameMagic, at + 1);
    if (next == std::string_view::npos) break;
    at = next;
  }
  if (scan.damage_from < 0) scan.first_behind = scan.frames.size();
  return scan;
}

}  // namespace pitwall::log
