#include "services/adapters/files/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::files {
namespace {

Status DiskStatus(int error_number, std::string_view what, std::string_view path) {
  const std::string context = Cat(what, " ", path);
  // EFBIG means that the process's file size limit was reached. The caller handles it like a full
  // disk.
  if (error_number == EFBIG) return ResourceExhausted(Cat(context, ": file size limit reached"));
  if (error_number == EIO || error_number == ENFILE || error_number == ENOMEM) {
    return Unavailable(Cat(context, ": ", std::strerror(error_number)));
  }
  return ErrnoStatus(error_number, context);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

size_t DiskFaults::Take(size_t bytes) {
  int64_t space = space_.load();
  while (space >= 0) {
    const int64_t granted = std::min<int64_t>(space, static_cast<int64_t>(bytes));
    if (space_.compare_exchange_weak(space, space - granted)) return static_cast<size_t>(granted);
  }
  return bytes;
}

StatusOr<std::shared_ptr<File>> File::Open(const std::string& path, Mode mode,
                                           std::shared_ptr<DiskFaults> faults) {
  int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  switch (mode) {
    case Mode::kRead:
      flags |= O_RDONLY;
      break;
    case Mode::kWrite:
      flags |= O_RDWR;
      break;
    case Mode::kCreate:
      flags |= O_RDWR | O_CREAT | O_EXCL;
      break;
  }
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags, 0600);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return DiskStatus(errno, "open", path);
  std::shared_ptr<File> file(new File(fd, path, std::move(faults)));
  struct stat info {};
  if (::fstat(fd, &info) != 0) return DiskStatus(errno, "stat", path);
  if (!S_ISREG(info.st_mode)) return DataLoss(Cat(path, ": not a regular file"));
  return file;
}

File::~File() { ::close(fd_); }

StatusOr<size_t> File::ReadAt(int64_t at, char* into, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd_, into + done, size - done, at + static_cast<int64_t>(done));
    if (n < 0) {
      if (errno == EINTR) continue;
      return DiskStatus(errno, "read", path_);
    }
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Status File::WriteAt(int64_t at, std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    size_t want = bytes.size() - done;
    if (faults_ != nullptr && faults_->Hits(path_)) {
      want = faults_->Take(want);
      if (want == 0) return DiskStatus(ENOSPC, "write", path_);
    }
    const ssize_t n = ::pwrite(fd_, bytes.data() + done, want, at + static_cast<int64_t>(done));
    if (n < 0) {
      if (errno == EINTR) continue;
      return DiskStatus(errno, "write", path_);
    }
    if (n == 0) return DiskStatus(ENOSPC, "write", path_);
    done += static_cast<size_t>(n);
  }
  return OkStatus();
}

Status File::Truncate(int64_t size) {
  if (faults_ != nullptr && faults_->TruncateFails() && faults_->Hits(path_))
    return DiskStatus(EIO, "truncate", path_);
  while (::ftruncate(fd_, size) != 0) {
    if (errno != EINTR) return DiskStatus(errno, "truncate", path_);
  }
  return OkStatus();
}

Status File::Sync() {
  if (faults_ != nullptr && faults_->SyncFails() && faults_->Hits(path_))
    return DiskStatus(EIO, "fdatasync", path_);
  while (::fdatasync(fd_) != 0) {
    if (errno != EINTR) return DiskStatus(errno, "fdatasync", path_);
  }
  return OkStatus();
}

StatusOr<int64_t> File::Size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return DiskStatus(errno, "stat", path_);
  return static_cast<int64_t>(info.st_size);
}

StatusOr<std::shared_ptr<Directory>> Directory::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return DiskStatus(errno, "open", path);
  return std::shared_ptr<Directory>(new Directory(fd, path));
}

Directory::~Directory() { ::close(fd_); }

Status Directory::Sync() const {
  // Some file systems reject directory flushes and do not need them.
  if (::fsync(fd_) == 0 || errno == EINVAL || errno == EROFS) return OkStatus();
  return DiskStatus(errno, "fsync", path_);
}

StatusOr<std::unique_ptr<DirectoryLock>> DirectoryLock::Take(const std::string& dir) {
  const std::string path = Cat(dir, "/LOCK");
  const int folder = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return DiskStatus(errno, "open", dir);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    const int error_number = errno;
    ::close(folder);
    return DiskStatus(error_number, "open", path);
  }
  char holder[32] = {};
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0 || ::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error_number = errno;
    const ssize_t n = ::pread(fd, holder, sizeof(holder) - 1, 0);
    ::close(fd);
    ::close(folder);
    if (error_number != EWOULDBLOCK) return DiskStatus(error_number, "flock", path);
    // The content may be damaged, so the message includes it only if it is a number.
    const auto who = ParseInt(Trim(std::string_view(holder, n > 0 ? static_cast<size_t>(n) : 0)));
    return FailedPrecondition(Cat("data directory ", dir, " is in use by another writer",
                                  who.has_value() ? Cat(" (process ", *who, ")") : std::string(),
                                  "; only one process may write to it at a time"));
  }
  // The process ID is used only for the message above. The flock is the lock, not the file content.
  const int length = std::snprintf(holder, sizeof(holder), "%d\n", static_cast<int>(::getpid()));
  if (::ftruncate(fd, 0) == 0) {
    [[maybe_unused]] const ssize_t n = ::pwrite(fd, holder, static_cast<size_t>(length), 0);
  }
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(folder, fd));
}

DirectoryLock::~DirectoryLock() {
  ::close(fd_);
  ::close(folder_);
}

Status MakeDirectories(const std::string& path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return DiskStatus(errno, "mkdir", part);
    }
    if (at == std::string::npos) break;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return DiskStatus(errno, "stat", path);
  if (!S_ISDIR(info.st_mode)) return FailedPrecondition(Cat(path, " is not a directory"));
  return OkStatus();
}

Status SyncDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Directory> directory, Directory::Open(path));
  return directory->Sync();
}

StatusOr<int64_t> TightenModes(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return 0;
    return DiskStatus(errno, "stat", path);
  }
  const bool folder = S_ISDIR(info.st_mode);
  if (!folder && !S_ISREG(info.st_mode)) return 0;
  int64_t tightened = 0;
  if ((info.st_mode & 077) != 0) {
    if (::chmod(path.c_str(), info.st_mode & 07700) != 0) return DiskStatus(errno, "chmod", path);
    ++tightened;
  }
  if (!folder) return tightened;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const int64_t below, TightenModes(Cat(path, "/", name)));
    tightened += below;
  }
  return tightened;
}

StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) {
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return DiskStatus(errno, "list", path);
  std::vector<std::string> names;
  int error_number = 0;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir);
    if (entry == nullptr) {
      error_number = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(dir);
  if (error_number != 0)
    return DiskStatus(error_number, "list", path);  // the list may be incomplete
  std::sort(names.begin(), names.end());
  return names;
}

Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return DiskStatus(errno, "rename to", to);
  return OkStatus();
}

Status Remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return DiskStatus(errno, "remove", path);
  return OkStatus();
}

Status RemoveTree(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? OkStatus() : DiskStatus(errno, "stat", path);
  }
  if (!S_ISDIR(info.st_mode)) return Remove(path);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) RETURN_IF_ERROR(RemoveTree(Cat(path, "/", name)));
  if (::rmdir(path.c_str()) != 0) return DiskStatus(errno, "remove", path);
  return OkStatus();
}

bool Exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

StatusOr<int64_t> RegularFileBytes(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return -1;
    return DiskStatus(errno, "stat", path);
  }
  return S_ISREG(info.st_mode) ? static_cast<int64_t>(info.st_size) : -1;
}

StatusOr<std::string> ReadWhole(const std::string& path, size_t limit) {
  ASSIGN_OR_RETURN(const std::shared_ptr<File> file, File::Open(path, File::Mode::kRead));
  ASSIGN_OR_RETURN(const int64_t size, file->Size());
  if (size > static_cast<int64_t>(limit)) {
    return ResourceExhausted(Cat(path, ": size is ", size, " bytes; the limit is ", limit));
  }
  std::string content(static_cast<size_t>(size), '\0');
  ASSIGN_OR_RETURN(const size_t got, file->ReadAt(0, content.data(), content.size()));
  content.resize(got);
  return content;
}

Status ReplaceFile(const std::string& path, std::string_view content,
                   const std::shared_ptr<DiskFaults>& faults) {
  const std::string temporary = Cat(path, ".tmp");
  RETURN_IF_ERROR(Remove(temporary));
  Status status = OkStatus();
  {
    ASSIGN_OR_RETURN(const std::shared_ptr<File> file,
                     File::Open(temporary, File::Mode::kCreate, faults));
    status = file->WriteAt(0, content);
    if (status.ok()) status = file->Sync();
  }
  if (status.ok()) status = Rename(temporary, path);
  if (!status.ok()) {
    (void)Remove(temporary);
    return status;
  }
  return SyncDirectory(ParentOf(path));
}

}  // namespace pitwall::files
