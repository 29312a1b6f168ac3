#include "services/collector/publishing/spool_file.h"

#include <unistd.h>

#include <cerrno>

namespace pitwall::collector {

void Put32(std::string* out, uint32_t v) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(v >> (8 * i)));
}
void Put64(std::string* out, uint64_t v) {
  Put32(out, static_cast<uint32_t>(v));
  Put32(out, static_cast<uint32_t>(v >> 32));
}
uint32_t Get32(const char* at) {
  uint32_t v = 0;
  for (int i = 0; i < 4; ++i)
    v |= static_cast<uint32_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return v;
}
uint64_t Get64(const char* at) { return Get32(at) | static_cast<uint64_t>(Get32(at + 4)) << 32; }

Status WriteAll(int fd, std::string_view bytes, uint64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path);
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return OkStatus();
}

Status ReadUpTo(int fd, uint64_t offset, std::string* bytes, const std::string& path) {
  size_t size = 0;
  while (size < bytes->size()) {
    const ssize_t n =
        pread(fd, bytes->data() + size, bytes->size() - size, static_cast<off_t>(offset + size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, path);
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  bytes->resize(size);
  return OkStatus();
}

}  // namespace pitwall::collector
