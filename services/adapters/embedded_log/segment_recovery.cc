#include "services/adapters/embedded_log/segment_recovery.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "services/adapters/embedded_log/format/batch.h"
#include "services/adapters/embedded_log/format/segment_check.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

std::string PathOf(const PartitionFiles& files, const SegmentName& name) {
  return Cat(files.dir, "/", name.FileName());
}

}  // namespace

namespace {

// Returns true if the journal lists this file.
bool Known(const PartitionFacts& facts, const SegmentName& name) {
  const auto found = facts.segments.find(name.base_offset);
  if (found != facts.segments.end()) {
    const SegmentFact& fact = found->second;
    return fact.run == name.run &&
           (fact.run == 0 ? !name.compacted() : fact.end == name.end_offset);
  }
  return !name.compacted() && facts.end.has_value() && facts.end->to_bytes > 0 &&
         facts.end->to_offset > facts.start && facts.end->segment_base == name.base_offset;
}

}  // namespace

StatusOr<PartitionFiles> ListPartition(const std::string& dir, const PartitionFacts* facts) {
  PartitionFiles files;
  files.dir = dir;
  auto names = files::ListDirectory(dir);
  if (names.status().code() == absl::StatusCode::kNotFound) return files;
  RETURN_IF_ERROR(names.status());
  std::vector<SegmentName> found;
  for (const std::string& name : *names) {
    if (EndsWith(name, ".tmp")) files.leftovers.push_back(Cat(dir, "/", name));
    const auto segment = SegmentName::Parse(name);
    if (!segment.has_value()) continue;
    if (facts != nullptr && facts->complete && !Known(*facts, *segment)) {
      files.leftovers.push_back(Cat(dir, "/", name));
    } else {
      found.push_back(*segment);
    }
  }
  // For equal base offsets, the output of the newest compaction comes first. A newer output never
  // starts after an older output that it replaces.
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

Status VerifyCommit(const PartitionFiles& files, const PartitionEnd& end, bool checksums,
                    bool* torn) {
  *torn = true;
  const SegmentName* segment = nullptr;
  for (const SegmentName& name : files.segments) {
    // Compaction flushes its output files.
    if (name.compacted() && name.base_offset <= end.from_offset &&
        end.from_offset < name.end_offset) {
      return OkStatus();
    }
    if (!name.compacted() && name.base_offset == end.segment_base) segment = &name;
  }
  if (segment == nullptr) {
    return DataLoss(Cat(files.dir, ": missing segment with base offset ", end.segment_base));
  }
  const std::string path = PathOf(files, *segment);
  ASSIGN_OR_RETURN(const std::shared_ptr<files::File> file,
                   files::File::Open(path, files::File::Mode::kRead));
  ASSIGN_OR_RETURN(const int64_t size, file->Size());
  if (size < end.to_bytes) {
    return DataLoss(
        Cat(path, ": file is ", size, " bytes long, but a commit ends at byte ", end.to_bytes));
  }
  if (!checksums) return OkStatus();
  SegmentReader reader(file, end.from_bytes, end.to_bytes);
  BatchDecoder decoder;
  int64_t next = end.from_offset;
  // A run of zeros at the end of the commit may continue after it, so a few more bytes are read.
  constexpr int64_t kBehind = 16;
  std::string bytes(static_cast<size_t>(end.to_bytes - end.from_bytes + kBehind), '\0');
  ASSIGN_OR_RETURN(const size_t got, file->ReadAt(end.from_bytes, bytes.data(), bytes.size()));
  bytes.resize(got);
  *torn = LooksTorn(bytes, end.from_bytes);
  for (;;) {
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
    if (step == SegmentReader::Step::kEnd) break;
    if (step == SegmentReader::Step::kDamage || reader.header().base_offset != next) {
      return DataLoss(
          Cat(path, " at byte ", reader.position(), ": does not match the batch committed here"));
    }
    ASSIGN_OR_RETURN(const std::string_view payload, reader.Payload());
    RETURN_IF_ERROR(
        Annotate(decoder.Open(reader.header(), payload), Cat(path, " at byte ", reader.at())));
    next = reader.header().last_offset() + 1;
  }
  if (next != end.to_offset)
    return DataLoss(Cat(path, ": committed records are missing at the end"));
  return OkStatus();
}

Status ExtendBySequence(const PartitionFiles& files, uint64_t sequence, PartitionEnd* end,
                        uint64_t* newest) {
  BatchDecoder decoder;
  for (const SegmentName& name : files.segments) {
    if (name.compacted()) {
      // Compaction writes only records that were committed and flushed.
      if (name.end_offset > end->to_offset) {
        end->to_offset = end->segment_base = name.end_offset;
        end->to_bytes = 0;
      }
      continue;
    }
    const bool here = name.base_offset == end->segment_base && end->to_bytes > 0;
    if (!here && name.base_offset < end->to_offset) continue;
    const std::string path = PathOf(files, name);
    ASSIGN_OR_RETURN(const std::shared_ptr<files::File> file,
                     files::File::Open(path, files::File::Mode::kRead));
    ASSIGN_OR_RETURN(const int64_t size, file->Size());
    SegmentReader reader(file, here ? std::min(end->to_bytes, size) : kSegmentHeaderBytes, size);
    for (;;) {
      ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
      if (step == SegmentReader::Step::kEnd) break;
      if (step == SegmentReader::Step::kDamage) continue;
      const BatchHeader& header = reader.header();
      ASSIGN_OR_RETURN(const std::string_view payload, reader.Payload());
      if (header.sequence > sequence) return OkStatus();
      if (header.base_offset < end->to_offset || !decoder.Open(header, payload).ok()) continue;
      end->segment_base = name.base_offset;
      end->to_bytes = reader.position();
      end->to_offset = header.last_offset() + 1;
      end->last_time_ns = std::max(end->last_time_ns, header.last_time_ns);
      *newest = std::max(*newest, header.sequence);
    }
  }
  return OkStatus();
}

int64_t EndOfSegment(const PartitionContent& content, size_t index) {
  const SegmentName& name = content.segments[index].segment->name();
  if (name.compacted()) return name.end_offset;
  return index + 1 < content.segments.size()
             ? content.segments[index + 1].segment->name().base_offset
             : content.end_offset;
}

namespace {

// Collects the damage in one partition's files.
class Examination {
 public:
  Examination(const PartitionFiles& files, const PartitionFacts& facts, DamageLog* damage)
      : files_(files), facts_(facts), damage_(damage) {}

  // Opens and checks a segment file. `bytes` is the committed size in the journal. If it is -1
  // (unknown), the file size is used.
  StatusOr<std::optional<SegmentInfo>> Take(const SegmentName& name, int64_t bytes, int64_t end) {
    const std::string path = PathOf(files_, name);
    auto file = files::File::Open(path, files::File::Mode::kRead);
    if (file.status().code() == absl::StatusCode::kNotFound) {
      Report(DamageKind::kSegmentMissing, path, "the file is missing", name.base_offset, end);
      return std::nullopt;
    }
    RETURN_IF_ERROR(file.status());
    SegmentInfo info;
    info.segment = std::make_shared<Segment>(files_.dir, name);
    ASSIGN_OR_RETURN(info.bytes, (*file)->Size());
    if (bytes >= 0 && info.bytes < bytes) {
      // The lost offsets are determined when the file is read.
      Report(DamageKind::kSegmentCut, path,
             Cat("the file has ", info.bytes, " bytes, but commits end at byte ", bytes,
                 " (offset ", end, ")"),
             -1, -1);
    } else if (bytes >= 0) {
      info.bytes = bytes;
      whole_ = true;
      return info;
    }
    whole_ = bytes < 0;
    return info;
  }
  bool whole() const { return whole_; }

  void Report(DamageKind kind, const std::string& path, const std::string& message, int64_t from,
              int64_t to) {
    std::vector<Lost> parts{{from, to, 0}};
    if (from >= 0) parts = Uncovered(from, to, facts_.lost);
    for (const Lost& part : parts) {
      damage_->Report({.kind = kind,
                       .place = path,
                       .message = from < 0 ? message
                                           : Cat(message, ", offsets ", part.from, " to ",
                                                 part.to - 1, " are lost"),
                       .topic = facts_.topic,
                       .partition = facts_.partition,
                       .from_offset = part.from,
                       .to_offset = part.to,
                       .path = path});
    }
  }

 private:
  const PartitionFiles& files_;
  const PartitionFacts& facts_;
  DamageLog* const damage_;
  bool whole_ = false;
};

}  // namespace

StatusOr<PartitionContent> RecoverPartition(const PartitionFiles& files,
                                            const PartitionFacts& facts, DamageLog* damage) {
  PartitionContent content;
  content.lost = facts.lost;
  content.start_offset = facts.start;
  if (!facts.end.has_value()) return content;
  const PartitionEnd& end = *facts.end;
  content.end_offset = end.to_offset;
  content.last_time_ns = end.last_time_ns;
  Examination examine(files, facts, damage);

  struct Wanted {
    SegmentName name;
    int64_t bytes;
    int64_t end;
    bool last;
  };
  std::vector<Wanted> wanted;
  if (facts.complete) {
    for (const auto& [base, fact] : facts.segments) {
      SegmentName name;
      name.base_offset = base;
      if (fact.run > 0) {
        name.end_offset = fact.end;
        name.run = fact.run;
      }
      wanted.push_back({name, fact.bytes, fact.end, false});
    }
    if (end.to_bytes > 0 && end.to_offset > facts.start &&
        !facts.segments.contains(end.segment_base)) {
      SegmentName name;
      name.base_offset = end.segment_base;
      wanted.push_back({name, end.to_bytes, end.to_offset, true});
    }
  } else {
    for (size_t i = 0; i < files.segments.size(); ++i) {
      const SegmentName& name = files.segments[i];
      if (name.base_offset >= content.end_offset) break;  // belongs to a dropped commit
      const bool last = !name.compacted() && name.base_offset == end.segment_base;
      const int64_t behind = name.compacted() ? name.end_offset
                             : i + 1 < files.segments.size()
                                 ? std::min(files.segments[i + 1].base_offset, end.to_offset)
                                 : end.to_offset;
      wanted.push_back({name, last ? end.to_bytes : -1, behind, last});
    }
    // The start offset in the journal may be lost, so the existing files determine it.
    content.start_offset = wanted.empty() ? end.to_offset : wanted.front().name.base_offset;
  }
  int64_t next = content.start_offset;
  for (const Wanted& segment : wanted) {
    if (segment.name.base_offset > next) {
      examine.Report(DamageKind::kOffsets, files.dir, "no segment contains them", next,
                     segment.name.base_offset);
    }
    next = std::max(next, segment.end);
    ASSIGN_OR_RETURN(auto info, examine.Take(segment.name, segment.bytes, segment.end));
    if (!info.has_value()) continue;
    if (segment.last && examine.whole()) {
      info->writable = true;
      info->last_time_ns = end.last_time_ns;
    }
    content.segments.push_back(*std::move(info));
  }
  if (next < content.end_offset) {
    examine.Report(DamageKind::kOffsets, files.dir, "no segment contains them", next,
                   content.end_offset);
  }
  return content;
}

Status ClearAway(const PartitionFiles& files, const PartitionContent& content) {
  RETURN_IF_ERROR(files::MakeDirectories(files.dir));
  for (const std::string& path : files.leftovers) RETURN_IF_ERROR(files::Remove(path));
  for (const SegmentName& name : files.segments) {
    if (name.base_offset >= content.end_offset) RETURN_IF_ERROR(files::Remove(PathOf(files, name)));
  }
  if (content.segments.empty() || !content.segments.back().writable) return OkStatus();
  const SegmentInfo& last = content.segments.back();
  ASSIGN_OR_RETURN(const std::shared_ptr<files::File> file,
                   files::File::Open(last.segment->path(), files::File::Mode::kWrite));
  ASSIGN_OR_RETURN(const int64_t size, file->Size());
  return size > last.bytes ? file->Truncate(last.bytes) : OkStatus();
}

Status VerifySegment(const PartitionFacts& facts, const std::string& dir,
                     const PartitionContent& content, size_t index, DamageLog* damage) {
  const SegmentInfo& info = content.segments[index];
  const std::string& path = info.segment->path();
  // The next file is not used as the end because a segment in between may be missing.
  const auto fact = facts.segments.find(info.segment->name().base_offset);
  const int64_t end = facts.complete && fact != facts.segments.end() ? fact->second.end
                                                                     : EndOfSegment(content, index);
  // A file truncated between two batches can be read without errors, so the committed size must be
  // checked too.
  const int64_t bytes = facts.complete && fact != facts.segments.end()
                            ? std::max(info.bytes, fact->second.bytes)
                            : info.bytes;
  ASSIGN_OR_RETURN(const SegmentCheck check,
                   CheckSegment(dir, info.segment->name(), bytes, end, facts.lost));
  if (check.header_damaged) {
    damage->Report(
        {.kind = DamageKind::kSegmentHeader,
         .place = path,
         .message = "the first 16 bytes are damaged; they are rewritten from the file name",
         .topic = facts.topic,
         .partition = facts.partition,
         .healed = true,
         .path = path});
  }
  for (const UnreadableStretch& stretch : check.unreadable) {
    damage->Report({.kind = DamageKind::kRecords,
                    .place = Cat(path, " at byte ", stretch.at),
                    .message = Cat(stretch.reason, ", offsets ", stretch.from_offset, " to ",
                                   stretch.to_offset - 1, " are lost"),
                    .topic = facts.topic,
                    .partition = facts.partition,
                    .from_offset = stretch.from_offset,
                    .to_offset = stretch.to_offset,
                    .path = path});
  }
  return OkStatus();
}

}  // namespace pitwall::log
