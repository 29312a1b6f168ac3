#include "services/adapters/embedded_log/format/commit_frame.h"

#include <utility>

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

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

void WriteRange(const LostRange& range, BinaryWriter& w) {
  WriteKey(range.key, w);
  w.I64(range.from);
  w.I64(range.to);
  w.I64(range.noted_ns);
}

LostRange ReadRange(BinaryReader& r) {
  LostRange range;
  range.key = ReadKey(r);
  range.from = r.I64();
  range.to = r.I64();
  range.noted_ns = r.I64();
  if (range.from < 0 || range.to < range.from || range.to > INT64_MAX / 2) r.Fail();
  return range;
}

void WriteFacts(const Frame& frame, BinaryWriter& w) {
  w.U64(frame.topics.size());
  for (const TopicFact& topic : frame.topics) {
    w.U64(topic.number);
    w.Str(topic.name);
    w.U64(static_cast<uint64_t>(topic.config.partitions));
    w.Bool(topic.config.compacted);
    w.I64(topic.config.retention_ms);
  }
  w.U64(frame.segments.size());
  for (const SegmentFact& segment : frame.segments) {
    WriteKey(segment.key, w);
    w.I64(segment.base);
    w.I64(segment.end);
    w.U64(segment.run);
    w.I64(segment.bytes);
  }
  w.U64(frame.starts.size());
  for (const PartitionStart& start : frame.starts) {
    WriteKey(start.key, w);
    w.I64(start.offset);
  }
  for (const std::vector<LostRange>* ranges : {&frame.lost, &frame.forgotten}) {
    w.U64(ranges->size());
    for (const LostRange& range : *ranges) WriteRange(range, w);
  }
}

void ReadFacts(BinaryReader& r, Frame* frame) {
  frame->topics.resize(r.Count(5));
  for (TopicFact& topic : frame->topics) {
    const uint64_t number = r.U64();
    topic.name = r.Str();
    const uint64_t partitions = r.U64();
    topic.config.compacted = r.Bool();
    topic.config.retention_ms = r.I64();
    if (number == 0 || number > UINT32_MAX || partitions == 0 || partitions > INT32_MAX) r.Fail();
    topic.number = static_cast<uint32_t>(number);
    topic.config.partitions = static_cast<int32_t>(partitions);
    if (!r.ok()) return;
  }
  frame->segments.resize(r.Count(6));
  for (SegmentFact& segment : frame->segments) {
    segment.key = ReadKey(r);
    segment.base = r.I64();
    segment.end = r.I64();
    segment.run = r.U64();
    segment.bytes = r.I64();
    if (segment.base < 0 || segment.end < segment.base || segment.bytes < 0 ||
        segment.end > INT64_MAX / 2) {
      r.Fail();
    }
    if (!r.ok()) return;
  }
  frame->starts.resize(r.Count(3));
  for (PartitionStart& start : frame->starts) {
    start.key = ReadKey(r);
    start.offset = r.I64();
    if (start.offset < 0 || start.offset > INT64_MAX / 2) r.Fail();
    if (!r.ok()) return;
  }
  for (std::vector<LostRange>* ranges : {&frame->lost, &frame->forgotten}) {
    ranges->resize(r.Count(5));
    for (LostRange& range : *ranges) {
      range = ReadRange(r);
      if (!r.ok()) return;
    }
  }
}

Status ReadPayload(std::string_view payload, Frame* frame) {
  BinaryReader r(payload);
  const uint8_t kind = r.U8();
  if (kind < static_cast<uint8_t>(FrameKind::kState) ||
      kind > static_cast<uint8_t>(FrameKind::kSynced)) {
    return DataLoss(Cat("journal frame has unknown kind ", static_cast<int>(kind)));
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
  if (r.ok() && !r.AtEnd()) ReadFacts(r, frame);
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
  if (!frame.topics.empty() || !frame.segments.empty() || !frame.starts.empty() ||
      !frame.lost.empty() || !frame.forgotten.empty()) {
    WriteFacts(frame, w);
  }
  const std::string& payload = w.data();
  if (payload.size() > kMaxFrameBytes) {
    return ResourceExhausted(Cat("a commit across ", frame.ends.size(), " partitions needs ",
                                 payload.size(), " bytes in the journal; the limit is ",
                                 kMaxFrameBytes));
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
  if (bytes.substr(0, 4) != kFrameMagic) return DataLoss("no journal frame at this position");
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

int JournalFormat(std::string_view content) {
  constexpr size_t kDigits = 3;
  const std::string_view name = kJournalMagic.substr(0, kJournalMagic.size() - kDigits);
  if (content.size() < kJournalHeaderBytes || content.substr(0, name.size()) != name) return 0;
  const auto number = ParseInt(content.substr(name.size(), kDigits));
  return number.has_value() && *number > 0 ? static_cast<int>(*number) : 0;
}

bool LooksTorn(std::string_view bytes, int64_t position) {
  constexpr size_t kRun = 16;  // longer than any run of zeros in a valid header
  constexpr int64_t kSector = 512;
  size_t run = 0;
  for (const char c : bytes) {
    run = c == 0 ? run + 1 : 0;
    if (run == kRun) return true;
  }
  if (run >= kRun / 2) return true;
  // The last sector may contain only a few bytes, so fewer zeros suffice.
  const int64_t end = position + static_cast<int64_t>(bytes.size());
  const int64_t sector = end / kSector * kSector;
  return sector > position && sector < end && static_cast<int64_t>(run) >= end - sector;
}

JournalScan ScanJournal(std::string_view content) {
  JournalScan scan;
  scan.format = JournalFormat(content);
  const auto damaged = [&scan](size_t at, std::string_view reason) {
    if (scan.damage_from >= 0) return;
    scan.damage_from = static_cast<int64_t>(at);
    scan.damage_reason = std::string(reason);
    scan.first_behind = scan.frames.size();
  };
  size_t at = kJournalHeaderBytes;
  uint64_t last = 0;
  while (at < content.size()) {
    size_t size = 0;
    auto frame = DecodeFrame(content.substr(at), &size);
    if (frame.ok() && frame->kind != FrameKind::kState &&
        frame->kind != FrameKind::kCheckpointEnd && frame->sequence <= last) {
      frame = DataLoss("journal frame is out of sequence");
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
    const bool first = scan.damage_from == static_cast<int64_t>(at);
    if (first) {
      // A complete frame with a wrong checksum did reach the disk. A truncated frame may not have.
      const bool cut =
          at + kFrameHeaderBytes > content.size() ||
          (content.substr(at, 4) == kFrameMagic && LoadU32(content, at + 4) <= kMaxFrameBytes &&
           LoadU32(content, at + 4) > content.size() - at - kFrameHeaderBytes);
      scan.looks_torn = (cut && next == std::string_view::npos) ||
                        LooksTorn(content.substr(at, next - at), static_cast<int64_t>(at));
    }
    if (next == std::string_view::npos) break;
    at = next;
  }
  if (scan.damage_from < 0) scan.first_behind = scan.frames.size();
  return scan;
}

}  // namespace pitwall::log
