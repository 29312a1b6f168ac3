// The first byte modulo 3 selects the meaning of the rest: 0 is a segment file, 1 is a journal
// file, and 2 is a data directory's journal and segment (split in the middle), on which a log is
// opened. If the high bit of the first byte is set, checksums are corrected first, so that the
// fuzzer also reaches the parsers behind them. No input may cause a crash, a hang, or a returned
// record that fails its checks. The fuzzer's sanitizers detect every out-of-bounds read.
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/embedded_log/embedded_log.h"
#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/adapters/files/file.h"
#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::log {
namespace {

// A scratch directory per process, removed at exit.
class Scratch {
 public:
  Scratch() : dir_(Cat(Base(), "/pitwall_fuzz_XXXXXX")) {
    PITWALL_CHECK(::mkdtemp(dir_.data()) != nullptr);
    SetLogLevel(static_cast<LogLevel>(static_cast<int>(LogLevel::kError) + 1));  // disables logging
  }
  ~Scratch() { (void)files::RemoveTree(dir_); }
  std::string Path(std::string_view name) const { return Cat(dir_, "/", name); }

 private:
  static std::string Base() {
    const char* base = std::getenv("TMPDIR");
    if (base != nullptr) return base;
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  }
  std::string dir_;
};

const Scratch& TheScratch() {
  static const Scratch scratch;
  return scratch;
}

void Spill(const std::string& path, std::string_view content) {
  PITWALL_CHECK(files::Remove(path).ok());
  auto file = files::File::Open(path, files::File::Mode::kCreate);
  PITWALL_CHECK(file.ok());
  PITWALL_CHECK((*file)->WriteAt(0, content).ok());
}

uint32_t LoadU32(const std::string& bytes, size_t at) {
  uint32_t v = 0;
  for (size_t i = 0; i < 4; ++i) v |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return v;
}

void StoreU32(uint32_t v, size_t at, std::string* bytes) {
  for (size_t i = 0; i < 4; ++i) (*bytes)[at + i] = static_cast<char>(v >> (8 * i));
}

// Corrects the checksums of everything that resembles a batch or a frame.
std::string Repair(std::string_view input) {
  std::string bytes(input);
  for (size_t at = bytes.find("PW"); at != std::string::npos; at = bytes.find("PW", at + 1)) {
    const std::string_view rest = std::string_view(bytes).substr(at);
    if (rest.size() >= kBatchHeaderBytes && StartsWith(rest, kBatchMagic)) {
      const size_t stored = LoadU32(bytes, at + 48);
      if (stored <= rest.size() - kBatchHeaderBytes) {
        StoreU32(Crc32c(rest.substr(kBatchHeaderBytes, stored)), at + 56, &bytes);
      }
      StoreU32(Crc32c(rest.substr(8, kBatchHeaderBytes - 8)), at + 4, &bytes);
    } else if (rest.size() >= kFrameHeaderBytes && StartsWith(rest, "PWF1")) {
      const size_t length = LoadU32(bytes, at + 4);
      if (length > rest.size() - kFrameHeaderBytes) continue;
      StoreU32(Crc32c(rest.substr(kFrameHeaderBytes, length), Crc32c(rest.substr(4, 4))), at + 8,
               &bytes);
    }
  }
  return bytes;
}

void ReadSegment(std::string_view bytes) {
  const std::string path = TheScratch().Path("segment");
  Spill(path, bytes);
  auto file = files::File::Open(path, files::File::Mode::kRead);
  PITWALL_CHECK(file.ok());
  // A limit beyond the end of the file simulates a truncated file.
  for (const size_t limit : {bytes.size(), bytes.size() + 100}) {
    SegmentReader reader(*file, kSegmentHeaderBytes, static_cast<int64_t>(limit));
    BatchDecoder decoder;
    int64_t last = -1;
    for (;;) {
      const int64_t before = reader.position();
      const auto step = reader.Next();
      PITWALL_CHECK(step.ok());
      if (*step == SegmentReader::Step::kEnd) break;
      PITWALL_CHECK(reader.position() > before);
      if (*step == SegmentReader::Step::kDamage) continue;
      const auto payload = reader.Payload();
      PITWALL_CHECK(payload.ok());
      if (!decoder.Open(reader.header(), *payload).ok()) continue;
      while (decoder.more()) {
        RecordView record;
        if (!decoder.Next(&record).ok()) break;
        PITWALL_CHECK(record.offset > last);
        last = record.offset;
        Headers headers;
        (void)DecodeHeaders(record.headers, &headers);
      }
      last = reader.header().last_offset();
    }
  }
}

void ReadJournal(std::string_view bytes) {
  const JournalScan scan = ScanJournal(bytes);
  int64_t last = 0;
  for (const ScannedFrame& scanned : scan.frames) {
    PITWALL_CHECK(scanned.from >= last && scanned.to > scanned.from);
    PITWALL_CHECK(scanned.to <= static_cast<int64_t>(bytes.size()));
    last = scanned.to;
    // Parsed content must survive encoding and decoding.
    std::string again;
    PITWALL_CHECK(EncodeFrame(scanned.frame, &again).ok());
    size_t size = 0;
    const auto frame = DecodeFrame(again, &size);
    PITWALL_CHECK(frame.ok() && size == again.size());
    PITWALL_CHECK(frame->ends.size() == scanned.frame.ends.size());
  }
  PITWALL_CHECK(scan.first_behind <= scan.frames.size());
}

void OpenDirectory(std::string_view bytes) {
  fakes::FakeClock clock;
  EmbeddedLogOptions options;
  options.dir = TheScratch().Path("data");
  options.background = false;
  options.fsync = FsyncPolicy::kNever;
  PITWALL_CHECK(files::RemoveTree(options.dir).ok());
  PITWALL_CHECK(files::MakeDirectories(Cat(options.dir, "/topics/t/0")).ok());
  PITWALL_CHECK(files::MakeDirectories(Cat(options.dir, "/commits")).ok());
  Spill(Cat(options.dir, "/topics/t/topic.conf"),
        "number: 1\npartitions: 1\ncompacted: false\nretention_ms: -1\n");
  const std::string_view journal = bytes.substr(0, bytes.size() / 2);
  Spill(Cat(options.dir, "/commits/00000000000000000001.journal"), journal);
  Spill(Cat(options.dir, "/topics/t/0/00000000000000000000.seg"), bytes.substr(journal.size()));
  for (const bool salvage : {false, true}) {
    options.salvage = salvage;
    auto log = OpenEmbeddedLog(options, &clock);
    if (!log.ok()) continue;
    auto reader = (*log)->OpenReader({"t", 0}, kFromStart);
    PITWALL_CHECK(reader.ok());
    std::vector<Record> records;
    for (;;) {
      const int64_t before = (*reader)->position();
      (void)(*reader)->Poll(100, 1 << 20, Duration::Zero(), &records);
      if ((*reader)->position() == before) break;
    }
    PITWALL_CHECK((*reader)->position() == *(*reader)->EndOffset());
    // The log must still work.
    OutgoingRecord record;
    record.topic = "t";
    record.partition = 0;
    record.value = "new";
    PITWALL_CHECK((*(*log)->OpenAppender())->Append({record}).ok());
    records.clear();
    PITWALL_CHECK((*reader)->Poll(1, 1, Duration::Zero(), &records).ok());
    PITWALL_CHECK(records.size() == 1 && records[0].value == "new");
  }
}

}  // namespace
}  // namespace pitwall::log

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 0x80) != 0) rest = pitwall::log::Repair(rest);
  switch ((data[0] & 0x7f) % 3) {
    case 0:
      pitwall::log::ReadSegment(rest);
      break;
    case 1:
      pitwall::log::ReadJournal(rest);
      break;
    default:
      pitwall::log::OpenDirectory(rest);
  }
  return 0;
}
