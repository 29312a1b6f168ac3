// Writes the seed corpus: write_log_corpus FOLDER. Run it manually when a format changes.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/adapters/files/file.h"
#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

std::string SegmentSeed(bool compress) {
  std::string out = SegmentHeader(0);
  BatchBuilder builder;
  for (int i = 0; i < 6; ++i) {
    OutgoingRecord record;
    record.key = Cat("job-", i % 2);
    record.value = compress ? std::string(300, 'v') : Cat("value ", i);
    record.tombstone = i == 4;
    if (i == 2) record.headers = {{"reason", "late"}};
    builder.Add(i, 1'000'000 * i, record);
    if (i % 2 == 1) builder.Finish(static_cast<uint64_t>(i / 2 + 1), compress, &out);
  }
  return out;
}

std::string JournalSeed() {
  std::string out = JournalHeader(1);
  Frame frame;
  frame.kind = FrameKind::kCheckpointEnd;
  PITWALL_CHECK(EncodeFrame(frame, &out).ok());
  // Like the segment above, the journal has three commits of two records.
  const std::string segment = SegmentSeed(false);
  size_t at = static_cast<size_t>(kSegmentHeaderBytes);
  for (uint64_t i = 1; i <= 3; ++i) {
    const auto header = ParseBatchHeader(std::string_view(segment).substr(at));
    PITWALL_CHECK(header.has_value());
    const size_t to = at + kBatchHeaderBytes + header->stored_bytes;
    frame = {};
    frame.sequence = i;
    PartitionEnd end;
    end.key = {1, 0};
    end.from_bytes = static_cast<int64_t>(at);
    end.to_bytes = static_cast<int64_t>(to);
    end.from_offset = header->base_offset;
    end.to_offset = header->last_offset() + 1;
    end.last_time_ns = header->last_time_ns;
    frame.ends.push_back(end);
    frame.positions.push_back({"g", {1, 0}, {static_cast<int64_t>(i), "meta"}});
    frame.epochs.push_back({"tx", i});
    PITWALL_CHECK(EncodeFrame(frame, &out).ok());
    at = to;
  }
  frame = {};
  frame.kind = FrameKind::kSynced;
  frame.sequence = 4;
  frame.synced_sequence = 3;
  PITWALL_CHECK(EncodeFrame(frame, &out).ok());
  return out;
}

void Write(const std::string& path, char first, std::string_view content) {
  PITWALL_CHECK(files::Remove(path).ok());
  auto file = files::File::Open(path, files::File::Mode::kCreate);
  PITWALL_CHECK(file.ok());
  PITWALL_CHECK((*file)->WriteAt(0, std::string(1, first) + std::string(content)).ok());
}

void WriteAll(const std::string& dir) {
  Write(Cat(dir, "/segment"), '\x00', SegmentSeed(false));
  Write(Cat(dir, "/segment_zstd"), '\x00', SegmentSeed(true));
  Write(Cat(dir, "/segment_repaired"), '\x80', SegmentSeed(false));
  Write(Cat(dir, "/journal"), '\x01', JournalSeed());
  Write(Cat(dir, "/journal_repaired"), '\x81', JournalSeed());
  // The two halves have equal size: the journal's end is padded with bytes that are not a frame.
  std::string journal = JournalSeed();
  std::string segment = SegmentSeed(false);
  const size_t half = std::max(journal.size(), segment.size());
  journal.resize(half, '\0');
  segment.resize(half, '\0');
  Write(Cat(dir, "/directory"), '\x02', journal + segment);
  Write(Cat(dir, "/directory_repaired"), '\x82', journal + segment);
}

}  // namespace
}  // namespace pitwall::log

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_log_corpus FOLDER\n");
    return 2;
  }
  pitwall::log::WriteAll(argv[1]);
  return 0;
}
