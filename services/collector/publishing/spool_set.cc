#include "services/collector/publishing/spool_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

constexpr size_t kLaneDigits = 16;
constexpr size_t kMoveRecords =
    256;  // well below 1024, the number of sequences within which duplicates are detected
constexpr size_t kMoveBytes = 1u << 20;
constexpr size_t kMostCursorBytes = 64u << 20;

// Returns the lane number encoded in a directory name.
std::optional<uint64_t> LaneNumber(std::string_view name) {
  if (name.size() != kLaneDigits ||
      name.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return std::nullopt;
  return std::strtoull(std::string(name).c_str(), nullptr, 16);
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, path);
  Status status;
  while (status.ok() && !bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = ErrnoStatus(errno, path);
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  close(fd);
  return status;
}

// Returns the content of the file, or "" if the file does not exist.
StatusOr<std::string> ReadFile(const std::string& path, size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::string();
  if (fd < 0) return ErrnoStatus(errno, path);
  std::string bytes;
  std::string chunk(64u << 10, '\0');
  while (bytes.size() <= most) {
    const ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const Status status = ErrnoStatus(errno, path);
      close(fd);
      return status;
    }
    if (n == 0) break;
    bytes.append(chunk.data(), static_cast<size_t>(n));
  }
  close(fd);
  return bytes;
}

}  // namespace

uint64_t LaneOf(std::string_view job) { return StableHash64(job); }

SpoolSet::SpoolSet(std::string dir, uint64_t max_bytes, Counters* counters, ClientCursors* cursors)
    : dir_(std::move(dir)), max_bytes_(max_bytes), counters_(counters), cursors_(cursors) {}

std::string SpoolSet::PathOf(uint64_t lane) const {
  char name[kLaneDigits + 1];
  std::snprintf(name, sizeof(name), "%016" PRIx64, lane);
  return Cat(dir_, "/", std::string_view(name));
}

SpoolHooks SpoolSet::Hooks() {
  return {[this](std::string_view note) { cursors_->Advance(note); }, [this] { SaveCursors(); }};
}

StatusOr<std::unique_ptr<SpoolSet>> SpoolSet::Open(const std::string& dir, uint64_t max_bytes,
                                                   Counters* counters, ClientCursors* cursors) {
  std::unique_ptr<SpoolSet> set(new SpoolSet(dir, max_bytes, counters, cursors));
  ASSIGN_OR_RETURN(set->legacy_, Spool::Open(dir, max_bytes, counters));
  RETURN_IF_ERROR(set->Load());
  RETURN_IF_ERROR(set->MoveLegacy());
  return set;
}

Status SpoolSet::Load() {
  // The cursors are loaded first. Otherwise, notes could not be compared against newer saved
  // cursors, and saving could lose cursors.
  const std::string path = dir_ + "/cursors";
  auto saved = ReadFile(path, kMostCursorBytes);
  Status status = saved.status();
  if (status.ok() && !saved->empty()) status = cursors_->Restore(*saved);
  if (!status.ok()) {
    counters_->dropped_damaged.fetch_add(1, std::memory_order_relaxed);
    PITWALL_LOG(
        kError, "collector", "spool: ", path, ": ", ToStd(status.message()),
        "; the positions of earlier clients are lost, so their next updates may be duplicated");
  }
  DIR* directory = opendir(dir_.c_str());
  if (directory == nullptr) return ErrnoStatus(errno, dir_);
  std::vector<uint64_t> lanes;
  while (const dirent* entry = readdir(directory)) {
    if (const auto lane = LaneNumber(entry->d_name)) lanes.push_back(*lane);
  }
  closedir(directory);
  for (uint64_t lane : lanes) {
    RETURN_IF_ERROR(Add(lane));
    if (spools_.at(lane)->empty()) RETURN_IF_ERROR(Remove(lane));
  }
  return OkStatus();
}

// The records are moved in chunks. Each chunk is acknowledged once it is in its lanes. Duplicates
// after a crash are detected by their sequences.
Status SpoolSet::MoveLegacy() {
  while (!legacy_->empty()) {
    std::vector<PendingRecord> records;
    Spool::Position end;
    RETURN_IF_ERROR(legacy_->Read(kMoveRecords, kMoveBytes, &records, &end));
    for (PendingRecord& record : records) {
      const uint64_t lane = LaneOf(record.key);
      std::vector<PendingRecord> one;
      one.push_back(std::move(record));
      Spool::Position ignored;
      RETURN_IF_ERROR(Append(lane, one, &ignored));
    }
    RETURN_IF_ERROR(legacy_->Acknowledge(end));
  }
  return legacy_->Trim();
}

Status SpoolSet::Add(uint64_t lane) {
  ASSIGN_OR_RETURN(spools_[lane], Spool::Open(PathOf(lane), max_bytes_, counters_, Hooks()));
  return OkStatus();
}

std::vector<uint64_t> SpoolSet::Lanes() const {
  std::vector<uint64_t> lanes;
  for (const auto& [lane, spool] : spools_) lanes.push_back(lane);
  return lanes;
}

Spool* SpoolSet::Find(uint64_t lane) {
  const auto it = spools_.find(lane);
  return it == spools_.end() ? nullptr : it->second.get();
}

Status SpoolSet::Append(uint64_t lane, const std::vector<PendingRecord>& records,
                        Spool::Position* end) {
  uint64_t bytes = 0;
  for (const PendingRecord& record : records) bytes += record.bytes() + 16;
  MakeRoom(bytes);
  if (Find(lane) == nullptr) {
    if (Status status = Add(lane); !status.ok()) {
      spools_.erase(lane);
      return status;
    }
  }
  RETURN_IF_ERROR(Find(lane)->Append(records, end));
  for (const PendingRecord& record : records) cursors_->Advance(record.note);
  return OkStatus();
}

void SpoolSet::MakeRoom(uint64_t bytes) {
  const auto used = [this] {
    uint64_t sum = 0;
    for (const auto& [lane, spool] : spools_) sum += spool->bytes();
    return sum;
  };
  if (used() + bytes <= max_bytes_) return;
  for (auto& [lane, spool] : spools_) {
    if (Status status = spool->Trim(); !status.ok() && !complained_) {
      complained_ = true;
      PITWALL_LOG(kError, "collector", "spool: ", ToStd(status.message()));
    }
  }
  while (used() + bytes > max_bytes_) {
    const auto most =
        std::max_element(spools_.begin(), spools_.end(), [](const auto& a, const auto& b) {
          return a.second->pending_bytes() < b.second->pending_bytes();
        });
    if (most == spools_.end() || !most->second->DropOne()) return;
  }
}

void SpoolSet::SaveCursors() {
  const uint64_t version = cursors_->version();
  if (version == saved_version_) return;
  const std::string path = dir_ + "/cursors";
  const std::string fresh = path + ".new";
  Status status = WriteFile(fresh, cursors_->Save());
  if (status.ok() && rename(fresh.c_str(), path.c_str()) != 0) status = ErrnoStatus(errno, path);
  if (status.ok()) {
    saved_version_ = version;
    complained_ = false;
    return;
  }
  if (!complained_) {
    PITWALL_LOG(kError, "collector", "spool: ", ToStd(status.message()),
                "; after a crash, client updates may be duplicated");
  }
  complained_ = true;
}

Status SpoolSet::Remove(uint64_t lane) {
  const auto it = spools_.find(lane);
  if (it == spools_.end() || !it->second->empty()) return OkStatus();
  Status status = it->second->Trim();
  spools_.erase(it);
  const std::string path = PathOf(lane);
  for (const char* file : {"/position", "/lock"}) unlink((path + file).c_str());
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) status.Update(ErrnoStatus(errno, path));
  return status;
}

Status SpoolSet::Sync() {
  Status first;
  for (auto& [lane, spool] : spools_) first.Update(spool->Sync());
  return first;
}

void SpoolSet::Finish() {
  SaveCursors();
  for (uint64_t lane : Lanes()) {
    if (Status status = Remove(lane); !status.ok())
      PITWALL_LOG(kWarning, "collector", "spool: ", ToStd(status.message()));
  }
}

}  // namespace pitwall::collector
