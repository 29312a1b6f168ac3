#include "services/adapters/log/segment_recovery.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "services/adapters/log/batch.h"
#include "services/adapters/log/segment_reader.h"
#include "services/base/strings.h"

namespace pitwall::log {
namespace {

std::string PathOf(const PartitionFiles& files, const SegmentName& name) {
  return Cat(files.dir, "/", name.FileName());
}

}  // namespace

StatusOr<PartitionFiles> ListPartition(const std::string& dir) {
  PartitionFiles files;
  files.dir = dir;
  auto names = ListDirectory(dir);
  if (names.status().code() == absl::StatusCode::kNotFound) return files;
  RETURN_IF_ERROR(names.status());
  std::vector<SegmentName> found;
  for (const std::string& name : *names) {
    if (EndsWith(name, ".tmp")) files.leftovers.push_back(Cat(dir, "/", name));
    if (const auto segment = SegmentName::Parse(name)) found.push_back(*segment);
  }
  // Outputs of the newest compaction first among equal bases: a newer one begins where an older one
  // did, or before.
  std::sort(found.begin(), found.end(), [](const SegmentName& a, const SegmentName& b) {
    if (a.base_offset != b.base_offset) return a.base_offset < b.base_offset;
    return a.run > b.run;
  });
  int64_t covered_to = -1;
  uint64_t covered_by = 0;
  for (const SegmentName& name : found) {
    if (name.base_offset < covered_to && name.run < covered_by) {
      files.leftovers.push_back(PathOf(files, name));
      continue;
    }
    if (name.compacted()) {
      covered_to = std::max(covered_to, name.end_offset);
      covered_by = name.run;
    }
    files.segments.push_back(name);
  }
  return files;
}

Status VerifyCommit(const PartitionFiles& files, const PartitionEnd& end, bool checksums) {
  const SegmentName* segment = nullptr;
  for (const SegmentName& name : files.segments) {
    // A compaction flushes what it writes.
    if (name.compacted() && name.base_offset <= end.from_offset &&
        end.from_offset < name.end_offset) {
      return OkStatus();
    }
    if (!name.compacted() && name.base_offset == end.segment_base) segment = &name;
  }
  if (segment == nullptr) {
    return DataLoss(Cat(files.dir, ": no segment with base offset ", end.segment_base));
  }
  const std::string path = PathOf(files, *segment);
  ASSIGN_OR_RETURN(const std::shared_ptr<File> file, File::Open(path, File::Mode::kRead));
  ASSIGN_OR_RETURN(const int64_t size, file->Size());
  if (size < end.to_bytes) {
    return DataLoss(Cat(path, ": ", size, " bytes, but a commit goes to ", end.to_bytes));
  }
  if (!checksums) return OkStatus();
  SegmentReader reader(file, end.from_bytes, end.to_bytes);
  BatchDecoder decoder;
  int64_t next = end.from_offset;
  for (;;) {
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
    if (step == SegmentReader::Step::kEnd) break;
    if (step == SegmentReader::Step::kDamage || reader.header().base_offset != next) {
      return DataLoss(Cat(path, " at byte ", reader.position(), ": not the batch committed here"));
    }
    ASSIGN_OR_RETURN(const std::string_view payload, reader.Payload());
    RETURN_IF_ERROR(
        Annotate(decoder.Open(reader.header(), payload), Cat(path, " at byte ", reader.at())));
    next = reader.header().last_offset() + 1;
  }
  if (next != end.to_offset) return DataLoss(Cat(path, ": a commit's records are cut short"));
  return OkStatus();
}

Status ExtendBySequence(const PartitionFiles& files, uint64_t sequence, PartitionEnd* end) {
  BatchDecoder decoder;
  for (const SegmentName& name : files.segments) {
    const bool here = name.base_offset == end->segment_base && end->to_bytes > 0;
    if (name.compacted() || (!here && name.base_offset != end->to_offset)) continue;
    const std::string path = PathOf(files, name);
    ASSIGN_OR_RETURN(const std::shared_ptr<File> file, File::Open(path, File::Mode::kRead));
    ASSIGN_OR_RETURN(const int64_t size, file->Size());
    SegmentReader reader(file, here ? end->to_bytes : kSegmentHeaderBytes, size);
    for (;;) {
      ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
      if (step != SegmentReader::Step::kBatch) break;
      const BatchHeader& header = reader.header();
      ASSIGN_OR_RETURN(const std::string_view payload, reader.Payload());
      if (header.sequence > sequence || header.base_offset != end->to_offset ||
          !decoder.Open(header, payload).ok()) {
        break;
      }
      end->segment_base = name.base_offset;
      end->to_bytes = reader.position();
      end->to_offset = header.last_offset() + 1;
      end->last_time_ns = std::max(end->last_time_ns, header.last_time_ns);
    }
  }
  return OkStatus();
}

StatusOr<PartitionContent> RecoverPartition(const PartitionFiles& files,
                                            const std::optional<PartitionEnd>& end, bool clear_away,
                                            DamageLog* damage) {
  PartitionContent content;
  std::vector<std::string> leftovers = files.leftovers;
  content.end_offset = end.has_value() ? end->to_offset : 0;
  content.last_time_ns = end.has_value() ? end->last_time_ns : 0;
  for (const SegmentName& name : files.segments) {
    const std::string path = PathOf(files, name);
    if (name.base_offset >= content.end_offset) {
      leftovers.push_back(path);  // of a commit that never was
      continue;
    }
    SegmentInfo info;
    info.segment = std::make_shared<Segment>(files.dir, name);
    auto file = File::Open(path, File::Mode::kRead);
    // A read-only log races with the writer's retention: the file may go between the listing and
    // here.
    if (!clear_away && file.status().code() == absl::StatusCode::kNotFound) continue;
    RETURN_IF_ERROR(file.status());
    ASSIGN_OR_RETURN(info.bytes, (*file)->Size());
    if (!name.compacted() && name.base_offset == end->segment_base) {
      if (info.bytes < end->to_bytes) {
        damage->Report(path, Cat("file has ", info.bytes, " bytes, but commits go to ",
                                 end->to_bytes, " (offset ", end->to_offset, ")"));
      } else {
        if (info.bytes > end->to_bytes && clear_away) {
          ASSIGN_OR_RETURN(const std::shared_ptr<File> writable,
                           File::Open(path, File::Mode::kWrite));
          RETURN_IF_ERROR(writable->Truncate(end->to_bytes));
        }
        info.bytes = end->to_bytes;
        info.last_time_ns = end->last_time_ns;
        info.writable = true;
      }
    }
    content.segments.push_back(std::move(info));
  }
  if (!clear_away) return content;
  RETURN_IF_ERROR(MakeDirectories(files.dir));
  for (const std::string& path : leftovers) RETURN_IF_ERROR(Remove(path));
  return content;
}

}  // namespace pitwall::log
