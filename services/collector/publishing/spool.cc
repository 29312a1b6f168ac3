#include "services/collector/publishing/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/collector/files/text_scan.h"
#include "services/collector/publishing/spool_file.h"

namespace pitwall::collector {
namespace {

constexpr std::string_view kMagic = "PWSPOOL2";
constexpr std::string_view kMagicWithoutNotes = "PWSPOOL1";  // header of the previous version
constexpr size_t kRecordHeader = 8;
constexpr size_t kMaxRecord = 64u << 20;
constexpr std::string_view kSuffix = ".spool";

// Returns the length, including the header, of the record at `at`. Returns 0 if the record is
// truncated or malformed.
size_t RecordAt(std::string_view bytes, size_t at) {
  if (bytes.size() - at < kRecordHeader) return 0;
  const size_t length = Get32(bytes.data() + at);
  if (length < 4 || length > kMaxRecord || bytes.size() - at - kRecordHeader < length) return 0;
  return kRecordHeader + length;
}

// Returns the file's format if it is newer than the current format. Otherwise, or if the file is
// damaged, returns 0.
int LaterFormat(std::string_view bytes) {
  const std::string_view name = kMagic.substr(0, kMagic.size() - 1);
  if (bytes.size() < kMagic.size() || !StartsWith(bytes, name)) return 0;
  const char digit = bytes[name.size()];
  return digit > kMagic.back() && digit <= '9' ? digit - '0' : 0;
}

// Fields of a record's payload. Their CRC has been verified.
struct Parts {
  std::string_view key, note, value;
};
std::optional<Parts> PartsOf(std::string_view payload, bool has_notes) {
  const size_t head = has_notes ? 8 : 4;
  if (payload.size() < head) return std::nullopt;
  const size_t key = Get32(payload.data());
  const size_t note = has_notes ? Get32(payload.data() + 4) : 0;
  payload.remove_prefix(head);
  if (key > payload.size() || note > payload.size() - key) return std::nullopt;
  return Parts{payload.substr(0, key), payload.substr(key, note), payload.substr(key + note)};
}

}  // namespace

Spool::Spool(std::string dir, uint64_t max_bytes, Counters* counters, SpoolHooks hooks)
    : dir_(std::move(dir)),
      max_bytes_(max_bytes),
      segment_bytes_(std::clamp<uint64_t>(max_bytes / 8, 4096, 4u << 20)),
      counters_(counters),
      hooks_(std::move(hooks)) {}

Spool::~Spool() {
  records_ = bytes_ = 0;
  segments_.clear();
  UpdateGauges();
  for (int fd : {write_fd_, read_fd_, lock_fd_}) {
    if (fd >= 0) close(fd);
  }
}

std::string Spool::PathOf(uint64_t number) const {
  char name[32];
  std::snprintf(name, sizeof(name), "%020" PRIu64, number);
  return Cat(dir_, "/", std::string_view(name), kSuffix);
}

StatusOr<std::unique_ptr<Spool>> Spool::Open(const std::string& dir, uint64_t max_bytes,
                                             Counters* counters, SpoolHooks hooks) {
  std::unique_ptr<Spool> spool(new Spool(dir, max_bytes, counters, std::move(hooks)));
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return ErrnoStatus(errno, Cat("spool ", dir));
  const std::string lock_path = dir + "/lock";
  spool->lock_fd_ = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (spool->lock_fd_ < 0) return ErrnoStatus(errno, lock_path);
  if (flock(spool->lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition(Cat("spool ", dir, " is in use by another collector"));
  }
  RETURN_IF_ERROR(spool->Load());
  spool->UpdateGauges();
  return spool;
}

Status Spool::Load() {
  ASSIGN_OR_RETURN(acknowledged_, position_file_.Open(dir_));
  DIR* directory = opendir(dir_.c_str());
  if (directory == nullptr) return ErrnoStatus(errno, dir_);
  std::vector<uint64_t> numbers;
  while (const dirent* entry = readdir(directory)) {
    std::string_view name = entry->d_name;
    if (!EndsWith(name, kSuffix)) continue;
    name.remove_suffix(kSuffix.size());
    if (const auto number = TextScan::ToNumber(name)) numbers.push_back(*number);
  }
  closedir(directory);
  std::sort(numbers.begin(), numbers.end());
  next_number_ = std::max(next_number_, acknowledged_.segment + 1);
  for (uint64_t number : numbers) {
    next_number_ = std::max(next_number_, number + 1);
    if (number < acknowledged_.segment) {  // left by a crash between acknowledging and removing
      unlink(PathOf(number).c_str());
      continue;
    }
    ASSIGN_OR_RETURN(const Segment segment, Scan(number));
    bytes_ += segment.size;
    segments_.push_back(segment);
    records_ += segment.records;
  }
  if (!segments_.empty() && acknowledged_.segment == segments_.front().number) {
    records_ -= acknowledged_.index;  // counted by Scan
  } else {
    acknowledged_ = {segments_.empty() ? next_number_ : segments_.front().number, kMagic.size(), 0};
  }
  while (!segments_.empty() && acknowledged_.index == segments_.front().records)
    RETURN_IF_ERROR(RemoveFront());
  if (records_ > 0)
    PITWALL_LOG(kInfo, "collector", "spool ", dir_, ": publishing ", records_,
                " stored records first");
  return OkStatus();
}

// Also sets acknowledged_.index if the acknowledged position is in this segment.
StatusOr<Spool::Segment> Spool::Scan(uint64_t number) {
  const std::string path = PathOf(number);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, path);
  struct stat info {};
  std::string bytes;
  Status status = fstat(fd, &info) == 0 ? OkStatus() : ErrnoStatus(errno, path);
  if (status.ok()) {
    bytes.resize(static_cast<size_t>(info.st_size));
    status = ReadUpTo(fd, 0, &bytes, path);
  }
  close(fd);
  RETURN_IF_ERROR(status);
  if (const int later = LaterFormat(bytes); later > 0) {
    return FailedPrecondition(Cat(path, ": unsupported spool format ", later,
                                  " (this version reads 1 and ", kMagic.back() - '0',
                                  "); run the version that wrote it until the spool is empty, or "
                                  "move the file away and lose its samples (docs/upgrade.md)"));
  }
  Segment segment{number, kMagic.size(), 0, StartsWith(bytes, kMagic)};
  bool position_seen = false;
  if (segment.has_notes || StartsWith(bytes, kMagicWithoutNotes)) {
    for (size_t at = kMagic.size();;) {
      if (number == acknowledged_.segment && at == acknowledged_.offset) {
        acknowledged_.index = segment.records;
        position_seen = true;
      }
      const size_t length = RecordAt(bytes, at);
      if (length == 0) break;
      if (segment.has_notes && hooks_.on_note != nullptr) {
        const std::string_view payload =
            std::string_view(bytes).substr(at + kRecordHeader, length - kRecordHeader);
        const auto parts = PartsOf(payload, true);
        if (parts.has_value() && !parts->note.empty() &&
            Crc32c(payload) == Get32(bytes.data() + at + 4))
          hooks_.on_note(parts->note);
      }
      at += length;
      ++segment.records;
      segment.size = at;
    }
  }
  if (segment.size < bytes.size()) {
    counters_->dropped_damaged.fetch_add(1, std::memory_order_relaxed);
    PITWALL_LOG(kWarning, "collector", "spool: ", path, " ends in a torn record at byte ",
                segment.size);
  }
  if (number == acknowledged_.segment && !position_seen) {
    acknowledged_.offset = kMagic.size();  // duplicates are preferable to losses
    acknowledged_.index = 0;
  }
  return segment;
}

Status Spool::NewSegment() {
  CloseWriter();
  const std::string path = PathOf(next_number_);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, path);
  if (Status status = WriteAll(fd, kMagic, 0, path); !status.ok()) {
    close(fd);
    unlink(path.c_str());
    return status;
  }
  write_fd_ = fd;
  segments_.push_back({next_number_, kMagic.size(), 0, true});
  bytes_ += kMagic.size();
  if (segments_.size() == 1) acknowledged_ = {next_number_, kMagic.size(), 0};
  ++next_number_;
  return OkStatus();
}

void Spool::CloseWriter() {
  if (write_fd_ >= 0) close(write_fd_);
  write_fd_ = -1;
}

Status Spool::Append(std::span<const PendingRecord> records, Position* end) {
  for (size_t i = 0; i < records.size();) {
    if (write_fd_ < 0 || segments_.back().size >= segment_bytes_) RETURN_IF_ERROR(NewSegment());
    buffer_.clear();
    const size_t first = i;
    // Collects as many records as fit into the segment, but at least one.
    for (; i < records.size(); ++i) {
      const PendingRecord& record = records[i];
      if (record.bytes() + 8 > kMaxRecord)
        return ResourceExhausted(
            Cat("spool: record is ", record.bytes(), " bytes long; the limit is ", kMaxRecord - 8));
      if (i > first && segments_.back().size + buffer_.size() >= segment_bytes_) break;
      const size_t head = buffer_.size();
      buffer_.resize(head + kRecordHeader);
      Put32(&buffer_, static_cast<uint32_t>(record.key.size()));
      Put32(&buffer_, static_cast<uint32_t>(record.note.size()));
      buffer_ += record.key;
      buffer_ += record.note;
      buffer_ += record.value;
      const std::string_view payload = std::string_view(buffer_).substr(head + kRecordHeader);
      std::string header;
      Put32(&header, static_cast<uint32_t>(payload.size()));
      Put32(&header, Crc32c(payload));
      std::memcpy(buffer_.data() + head, header.data(), kRecordHeader);
    }
    while (bytes_ + buffer_.size() > max_bytes_ && segments_.size() > 1)
      RETURN_IF_ERROR(DropOldest());
    Segment& segment = segments_.back();
    RETURN_IF_ERROR(WriteAll(write_fd_, buffer_, segment.size, PathOf(segment.number)));
    segment.size += buffer_.size();
    segment.records += i - first;
    bytes_ += buffer_.size();
    records_ += i - first;
  }
  if (!segments_.empty())
    *end = {segments_.back().number, segments_.back().size, segments_.back().records};
  UpdateGauges();
  return OkStatus();
}

Status Spool::DropOldest() {
  const uint64_t lost = segments_.front().records - acknowledged_.index;
  counters_->dropped_spool_full.fetch_add(lost, std::memory_order_relaxed);
  records_ -= lost;
  acknowledged_.index = segments_.front().records;
  PITWALL_LOG(kWarning, "collector", "spool is full; dropped its oldest ", lost, " records");
  return RemoveFront();
}

// Removes the front segment, which has been published or dropped.
Status Spool::RemoveFront() {
  const Segment front = segments_.front();
  if (hooks_.before_remove != nullptr) hooks_.before_remove();
  if (segments_.size() == 1) CloseWriter();
  segments_.pop_front();
  bytes_ -= front.size;
  acknowledged_ = {segments_.empty() ? next_number_ : segments_.front().number, kMagic.size(), 0};
  // The position is saved first, because a removed segment must never be needed again. The segment
  // is removed even if saving fails, because only removal frees space on a full disk, and its
  // records are no longer needed.
  Status saved = position_file_.Save(acknowledged_);
  if (read_fd_ >= 0 && read_number_ == front.number) {
    close(read_fd_);
    read_fd_ = -1;
  }
  const std::string path = PathOf(front.number);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, path);
  if (!saved.ok())
    saved = position_file_.Save(acknowledged_);  // the removal may have freed the space
  return saved;
}

Status Spool::Read(size_t max_records, size_t max_bytes, std::vector<PendingRecord>* out,
                   Position* end) {
  *end = acknowledged_;
  size_t count = 0;
  size_t bytes = 0;
  for (const Segment& segment : segments_) {
    if (count >= max_records || (count > 0 && bytes >= max_bytes)) break;
    if (segment.number != end->segment) *end = {segment.number, kMagic.size(), 0};
    if (end->offset >= segment.size) continue;
    const std::string path = PathOf(segment.number);
    if (read_fd_ < 0 || read_number_ != segment.number) {
      if (read_fd_ >= 0) close(read_fd_);
      read_fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (read_fd_ < 0) return ErrnoStatus(errno, path);
      read_number_ = segment.number;
    }
    while (end->offset < segment.size && count < max_records && (count == 0 || bytes < max_bytes)) {
      std::string header(kRecordHeader, '\0');
      RETURN_IF_ERROR(ReadUpTo(read_fd_, end->offset, &header, path));
      const size_t length = header.size() == kRecordHeader ? Get32(header.data()) : 0;
      const uint64_t left = segment.size - end->offset - kRecordHeader;
      std::string payload;
      if (length >= 4 && length <= left) {
        payload.resize(length);
        RETURN_IF_ERROR(ReadUpTo(read_fd_, end->offset + kRecordHeader, &payload, path));
      }
      if (payload.size() < 4) {  // the file has changed; later records cannot be found
        counters_->dropped_damaged.fetch_add(segment.records - end->index,
                                             std::memory_order_relaxed);
        *end = {segment.number, segment.size, segment.records};
        break;
      }
      end->offset += kRecordHeader + length;
      ++end->index;
      const auto parts = PartsOf(payload, segment.has_notes);
      if (Crc32c(payload) != Get32(header.data() + 4) || !parts.has_value()) {
        counters_->dropped_damaged.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      out->push_back(
          {std::string(parts->key), std::string(parts->value), std::string(parts->note)});
      bytes += out->back().bytes();
      ++count;
    }
  }
  return OkStatus();
}

Status Spool::Acknowledge(const Position& position) {
  if (position <= acknowledged_ || segments_.empty()) return OkStatus();
  // Even if saving fails, this process does not publish these records again.
  Status first = OkStatus();
  while (!segments_.empty() && segments_.front().number < position.segment) {
    records_ -= segments_.front().records - acknowledged_.index;
    first.Update(RemoveFront());
  }
  if (!segments_.empty() && segments_.front().number == position.segment) {
    records_ -= position.index - acknowledged_.index;
    acknowledged_ = position;
    const Segment& front = segments_.front();
    const bool done = position.index == front.records;
    const bool last = segments_.size() == 1 && front.size < segment_bytes_;
    first.Update(done && !last ? RemoveFront() : position_file_.Save(acknowledged_));
  }
  UpdateGauges();
  return first;
}

Status Spool::Trim() {
  Status first = OkStatus();
  while (!segments_.empty() && acknowledged_.index == segments_.front().records)
    first.Update(RemoveFront());
  UpdateGauges();
  return first;
}

bool Spool::DropOne() {
  if (segments_.empty()) return false;
  if (Status status = DropOldest(); !status.ok())
    PITWALL_LOG(kWarning, "collector", "spool: ", ToStd(status.message()));
  UpdateGauges();
  return true;
}

Status Spool::Sync() {
  if (write_fd_ >= 0 && fdatasync(write_fd_) != 0) return ErrnoStatus(errno, dir_);
  if (!position_file_.Sync()) return ErrnoStatus(errno, dir_);
  return OkStatus();
}

uint64_t Spool::pending_bytes() const {
  if (segments_.empty() || records_ == 0) return 0;
  return bytes_ - (segments_.size() - 1) * kMagic.size() - acknowledged_.offset;
}

void Spool::UpdateGauges() {
  // Each gauge is the sum over all spools.
  const uint64_t bytes = pending_bytes();
  counters_->spool_bytes.fetch_add(bytes - gauged_bytes_, std::memory_order_relaxed);
  counters_->spool_records.fetch_add(records_ - gauged_records_, std::memory_order_relaxed);
  gauged_bytes_ = bytes;
  gauged_records_ = records_;
}

}  // namespace pitwall::collector
