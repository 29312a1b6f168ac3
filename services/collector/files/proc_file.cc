#include "services/collector/files/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "services/collector/files/descriptor_reserve.h"

namespace pitwall::collector {

bool IsAbsence(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR || error_number == ESRCH;
}

// The reserve must exist before the first read that may need it.
ProcFile::ProcFile(std::string path) : path_(std::move(path)) { DescriptorReserve::OfProcess(); }
ProcFile::~ProcFile() { Close(); }
ProcFile::ProcFile(ProcFile&& other) noexcept
    : path_(std::move(other.path_)),
      buffer_(std::move(other.buffer_)),
      fd_(std::exchange(other.fd_, -1)),
      lent_(std::exchange(other.lent_, false)),
      error_(other.error_) {}
ProcFile& ProcFile::operator=(ProcFile&& other) noexcept {
  if (this == &other) return *this;
  Close();
  path_ = std::move(other.path_);
  buffer_ = std::move(other.buffer_);
  fd_ = std::exchange(other.fd_, -1);
  lent_ = std::exchange(other.lent_, false);
  error_ = other.error_;
  return *this;
}

void ProcFile::Open() {
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ >= 0 || (errno != EMFILE && errno != ENFILE)) return;
  const int error_number = errno;
  if (!DescriptorReserve::OfProcess().Lend()) {
    errno = error_number;
    return;
  }
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  lent_ = fd_ >= 0;
  if (lent_) return;
  const int second_error = errno;
  DescriptorReserve::OfProcess().TakeBack();
  errno = second_error;
}

void ProcFile::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (std::exchange(lent_, false)) DescriptorReserve::OfProcess().TakeBack();
}

std::optional<std::string_view> ProcFile::Read(size_t limit) {
  if (fd_ < 0) {
    Open();
    if (fd_ < 0) {
      error_ = errno;
      return std::nullopt;
    }
  }
  if (buffer_.empty()) buffer_.resize(std::min<size_t>(limit, 4096));
  size_t size = 0;
  while (size < limit) {
    if (size == buffer_.size()) buffer_.resize(std::min(limit, 2 * buffer_.size()));
    const ssize_t n = pread(fd_, buffer_.data() + size, std::min(limit, buffer_.size()) - size,
                            static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error_ = errno;
      Close();
      return std::nullopt;
    }
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  error_ = 0;
  if (lent_) Close();
  return std::string_view(buffer_).substr(0, size);
}

std::string UnderRoot(std::string_view root, std::string_view relative) {
  while (!root.empty() && root.back() == '/') root.remove_suffix(1);
  while (!relative.empty() && relative.front() == '/') relative.remove_prefix(1);
  std::string path(root);
  path += '/';
  path += relative;
  return path;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    names.push_back(it->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string HostNetFile(std::string_view root, std::string_view name) {
  const std::string first = UnderRoot(root, "proc/1/net/");
  const bool first_can = root != "/" && access((first + "dev").c_str(), R_OK) == 0;
  return (first_can ? first : UnderRoot(root, "proc/net/")) + std::string(name);
}

}  // namespace pitwall::collector
