#include "services/collector/files/trusted_path.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "services/base/text/strings.h"

namespace pitwall::collector {
namespace {

std::string Mode(mode_t mode) {
  std::array<char, 5> text{};
  mode &= 07777;
  for (size_t i = 0; i < 4; ++i) text[i] = static_cast<char>('0' + (mode >> (9 - 3 * i) & 7));
  return text.data();
}

bool IsTrusted(uid_t user) { return user == 0 || user == geteuid(); }

Status CheckOne(const std::string& path, bool sticky_is_fine) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISDIR(info.st_mode)) return FailedPrecondition(Cat(path, ": not a directory"));
  if (!IsTrusted(info.st_uid)) {
    return FailedPrecondition(
        Cat(path, ": the directory belongs to uid ", info.st_uid,
            ", which can replace its files; use a directory owned by root or uid ", geteuid()));
  }
  const bool shared = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (shared && !(sticky_is_fine && (info.st_mode & S_ISVTX) != 0)) {
    return FailedPrecondition(Cat(path, ": the directory is writable by others (mode ",
                                  Mode(info.st_mode), "); run chmod go-w on it"));
  }
  return OkStatus();
}

StatusOr<std::string> Resolve(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return ErrnoStatus(errno, path);
  std::string at(resolved);
  free(resolved);
  return at;
}

}  // namespace

std::string DirectoryOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

Status CheckSharedDirectory(const std::string& path) { return CheckOne(path, true); }

Status CheckParents(const std::string& path) {
  ASSIGN_OR_RETURN(std::string at, Resolve(path));
  while (at.size() > 1) {
    at = DirectoryOf(at);
    RETURN_IF_ERROR(CheckOne(at, true));
  }
  return OkStatus();
}

Status CheckOwnDirectory(const std::string& path) {
  RETURN_IF_ERROR(CheckOne(path, false));
  return CheckParents(path);
}

StatusOr<std::string> ReadTrustedFile(const std::string& path, size_t limit) {
  // With O_NONBLOCK, opening a pipe does not wait for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return ErrnoStatus(errno, "read");
  struct stat info {};
  Status status;
  std::string text;
  if (fstat(fd, &info) != 0) {
    status = ErrnoStatus(errno, "read");
  } else if (!S_ISREG(info.st_mode)) {
    status = FailedPrecondition("not a regular file");
  } else if (!IsTrusted(info.st_uid)) {
    status = FailedPrecondition(Cat("the file must belong to root or uid ", geteuid(),
                                    " (belongs to uid ", info.st_uid, "); run chown on it"));
  } else if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    status = FailedPrecondition(Cat("the file is writable by others (mode ", Mode(info.st_mode),
                                    "); run chmod go-w on it"));
  }
  std::array<char, 8192> chunk;
  while (status.ok() && text.size() <= limit) {
    const ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = ErrnoStatus(errno, "read");
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<size_t>(n));
  }
  close(fd);
  RETURN_IF_ERROR(status);
  if (text.size() > limit) return InvalidArgument(Cat("the file is longer than ", limit, " bytes"));
  return text;
}

}  // namespace pitwall::collector
