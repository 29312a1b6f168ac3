#include "services/adapters/embedded_log/format/segment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "services/adapters/embedded_log/format/segment_reader.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

constexpr int64_t kIndexStride = int64_t{64} << 10;
constexpr std::string_view kSuffix = ".seg";

// Accepts only digits, unlike ParseInt, which accepts a sign.
std::optional<int64_t> ParseDigits(std::string_view text) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  return ParseInt(text);
}

}  // namespace

std::string SegmentName::FileName() const {
  if (!compacted()) return absl::StrFormat("%020d.seg", base_offset);
  return absl::StrFormat("%020d-%020d.%06d.seg", base_offset, end_offset, run);
}

std::optional<SegmentName> SegmentName::Parse(std::string_view file_name) {
  if (!EndsWith(file_name, kSuffix)) return std::nullopt;
  file_name.remove_suffix(kSuffix.size());
  SegmentName name;
  const size_t dash = file_name.find('-');
  const auto base = ParseDigits(file_name.substr(0, dash));
  if (!base.has_value()) return std::nullopt;
  name.base_offset = *base;
  if (dash == std::string_view::npos) return name;
  const std::string_view rest = file_name.substr(dash + 1);
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto end = ParseDigits(rest.substr(0, dot));
  const auto run = ParseDigits(rest.substr(dot + 1));
  if (!end.has_value() || !run.has_value() || *end < *base) return std::nullopt;
  name.end_offset = *end;
  name.run = static_cast<uint64_t>(*run);
  return name;
}

Segment::Segment(const std::string& dir, const SegmentName& name)
    : name_(name), path_(Cat(dir, "/", name.FileName())), indexed_to_(kSegmentHeaderBytes) {}

StatusOr<std::shared_ptr<const files::File>> Segment::OpenLocked() {
  if (std::shared_ptr<const files::File> open = file_.lock(); open != nullptr) return open;
  ASSIGN_OR_RETURN(const std::shared_ptr<const files::File> file,
                   files::File::Open(path_, files::File::Mode::kRead));
  file_ = file;
  return file;
}

StatusOr<std::shared_ptr<const files::File>> Segment::Open() {
  MutexLock lock(&mutex_);
  return OpenLocked();
}

Status Segment::Pin() {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(pinned_, OpenLocked());
  return OkStatus();
}

void Segment::NoteBatch(int64_t from, int64_t to, int64_t base_offset, int64_t last_time_ns) {
  if (index_.empty() || from - index_.back().position >= kIndexStride) {
    index_.push_back({base_offset, from});
  }
  indexed_to_ = to;
  indexed_offset_ = base_offset;
  last_time_ns_ = std::max(last_time_ns_, last_time_ns);
}

void Segment::NoteAppend(int64_t from, int64_t to, int64_t base_offset, int64_t last_time_ns) {
  MutexLock lock(&mutex_);
  if (indexed_to_ == from) NoteBatch(from, to, base_offset, last_time_ns);
}

Status Segment::ScanTo(int64_t offset, int64_t limit) {
  if (indexed_offset_ > offset || indexed_to_ >= limit) return OkStatus();
  ASSIGN_OR_RETURN(const std::shared_ptr<const files::File> file, OpenLocked());
  SegmentReader reader(file, indexed_to_, limit);
  while (indexed_offset_ <= offset) {
    ASSIGN_OR_RETURN(const SegmentReader::Step step, reader.Next());
    if (step == SegmentReader::Step::kEnd) break;
    // Damage is reported when the records are read. In the index, a damaged section counts as a
    // section without batches.
    if (step == SegmentReader::Step::kDamage) continue;
    NoteBatch(reader.at(), reader.position(), reader.header().base_offset,
              reader.header().last_time_ns);
  }
  return OkStatus();
}

StatusOr<int64_t> Segment::FindPosition(int64_t offset, int64_t limit) {
  if (offset <= name_.base_offset) return kSegmentHeaderBytes;
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(ScanTo(offset, limit));
  const auto above = std::upper_bound(
      index_.begin(), index_.end(), offset,
      [](int64_t wanted, const IndexEntry& entry) { return wanted < entry.offset; });
  // The reader reports damage before the first entry.
  if (above == index_.begin()) return kSegmentHeaderBytes;
  return std::prev(above)->position;
}

StatusOr<int64_t> Segment::LastTime(int64_t limit) {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(ScanTo(INT64_MAX - 1, limit));
  return last_time_ns_;
}

}  // namespace pitwall::log
