#include "services/collector/publishing/spool_position_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "services/base/text/stable_hash.h"
#include "services/collector/publishing/spool_file.h"

namespace pitwall::collector {
namespace {

constexpr size_t kSlot = 64;  // size of a slot

}  // namespace

SpoolPositionFile::~SpoolPositionFile() {
  if (fd_ >= 0) close(fd_);
}

StatusOr<SpoolPosition> SpoolPositionFile::Open(const std::string& dir) {
  path_ = dir + "/position";
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0) return ErrnoStatus(errno, path_);
  std::string bytes(2 * kSlot, '\0');
  RETURN_IF_ERROR(ReadUpTo(fd_, 0, &bytes, path_));
  if (bytes.size() < 2 * kSlot) {
    // The position file is allocated before segments fill the disk. On a full disk, the allocation
    // may fail; the next start retries it.
    (void)WriteAll(fd_, std::string(2 * kSlot - bytes.size(), '\0'), bytes.size(), path_);
  }
  SpoolPosition position;
  for (size_t at = 0; at + kSlot <= bytes.size(); at += kSlot) {
    const std::string_view slot = std::string_view(bytes).substr(at, kSlot);
    if (Crc32c(slot.substr(0, 24)) != Get32(slot.data() + 24)) continue;
    const uint64_t saves = Get64(slot.data());
    if (saves <= saves_) continue;
    saves_ = saves;
    position = {Get64(slot.data() + 8), Get64(slot.data() + 16), 0};
  }
  return position;
}

Status SpoolPositionFile::Save(const SpoolPosition& position) {
  const uint64_t number = saves_ + 1;
  std::string slot;
  Put64(&slot, number);
  Put64(&slot, position.segment);
  Put64(&slot, position.offset);
  Put32(&slot, Crc32c(slot));
  slot.resize(kSlot, '\0');
  RETURN_IF_ERROR(WriteAll(fd_, slot, (number % 2) * kSlot, path_));
  saves_ = number;  // the failed write may have torn its slot; the next save reuses this slot
  return OkStatus();
}

bool SpoolPositionFile::Sync() { return fdatasync(fd_) == 0; }

}  // namespace pitwall::collector
