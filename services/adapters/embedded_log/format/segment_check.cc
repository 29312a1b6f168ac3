#include "services/adapters/embedded_log/format/segment_check.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::log {

std::vector<Lost> Uncovered(int64_t from, int64_t to, const std::vector<Lost>& lost) {
  std::vector<Lost> parts;
  for (const Lost& range : lost) {  // ordered and disjoint
    if (range.to <= from) continue;
    if (range.from >= to) break;
    if (range.from > from) parts.push_back({from, range.from, 0});
    from = std::max(from, range.to);
  }
  if (from < to) parts.push_back({from, to, 0});
  return parts;
}

namespace {

// Returns true if the payload matches the checksum in its header.
StatusOr<bool> Whole(SegmentReader* reader) {
  ASSIGN_OR_RETURN(const std::string_view payload, reader->Payload());
  const BatchHeader& header = reader->header();
  return payload.size() == header.stored_bytes && Crc32c(payload) == header.payload_crc;
}

}  // namespace

StatusOr<SegmentCheck> CheckSegment(const std::string& dir, const SegmentName& name, int64_t bytes,
                                    int64_t end_offset, const std::vector<Lost>& lost) {
  const std::string path = Cat(dir, "/", name.FileName());
  ASSIGN_OR_RETURN(const std::shared_ptr<files::File> file,
                   files::File::Open(path, files::File::Mode::kRead));
  SegmentCheck check;
  std::string header(kSegmentHeaderBytes, '\0');
  ASSIGN_OR_RETURN(const size_t got, file->ReadAt(0, header.data(), header.size()));
  check.header_damaged = got < header.size() || header != SegmentHeader(name.base_offset);

  SegmentReader reader(file, kSegmentHeaderBytes, bytes, end_offset);
  int64_t next = name.base_offset;
  int64_t bad_at = -1;
  std::string reason;
  const auto missing = [&](int64_t to, int64_t at) {
    // Compacted files have holes. Damage in such a file means that all offsets between the
    // neighboring batches are lost.
    if (name.compacted() && bad_at < 0) return;
    for (const Lost& part : Uncovered(next, to, lost)) {
      check.unreadable.push_back(
          {bad_at < 0 ? at : bad_at, part.from, part.to,
           bad_at < 0 ? "offsets are missing before this position" : reason});
    }
  };
  for (;;) {
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
    if (step == SegmentReader::Step::kEnd) break;
    if (step == SegmentReader::Step::kDamage) {
      if (bad_at < 0) bad_at = reader.damage().from, reason = reader.damage().reason;
      continue;
    }
    ASSIGN_OR_RETURN(const bool whole, Whole(&reader));
    if (!whole) {
      if (bad_at < 0) bad_at = reader.at(), reason = "batch has a wrong checksum";
      continue;
    }
    if (reader.header().base_offset > next) missing(reader.header().base_offset, reader.at());
    bad_at = -1;
    next = reader.header().last_offset() + 1;
  }
  if (next < end_offset) missing(end_offset, bytes);
  return check;
}

StatusOr<std::string> ReadableBatches(const std::string& path, const SegmentName& name,
                                      int64_t bytes, int64_t end_offset) {
  ASSIGN_OR_RETURN(const std::shared_ptr<files::File> file,
                   files::File::Open(path, files::File::Mode::kRead));
  std::string content = SegmentHeader(name.base_offset);
  SegmentReader reader(file, kSegmentHeaderBytes, bytes, end_offset);
  for (;;) {
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
    if (step == SegmentReader::Step::kEnd) return content;
    if (step == SegmentReader::Step::kDamage) continue;
    ASSIGN_OR_RETURN(const bool whole, Whole(&reader));
    if (!whole) continue;
    std::string header(kBatchHeaderBytes, '\0');
    ASSIGN_OR_RETURN(const size_t got, file->ReadAt(reader.at(), header.data(), header.size()));
    if (got != header.size()) continue;
    content += header;
    ASSIGN_OR_RETURN(const std::string_view payload, reader.Payload());
    content += payload;
  }
}

}  // namespace pitwall::log
