// Files and directories for logs and stores. Thin layer that adds paths to errors and injects
// faults in tests.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/status.h"

namespace pitwall::files {

// Disk faults for tests. Thread-safe. One object applies to all files of a log or a store.
class DiskFaults {
 public:
  // Number of bytes after which every write fails with ENOSPC. The last write is partial, as on a
  // real disk. Negative means unlimited.
  void SetSpace(int64_t bytes) { space_.store(bytes); }
  void FailSyncs(bool fail) { fail_syncs_.store(fail); }
  void FailTruncates(bool fail) { fail_truncates_.store(fail); }
  // Limits the faults to paths that contain `part`; "" means all paths.
  void OnlyBelow(std::string part) {
    MutexLock lock(&mutex_);
    part_ = std::move(part);
  }
  bool Hits(std::string_view path) const {
    MutexLock lock(&mutex_);
    return path.find(part_) != std::string_view::npos;
  }

  // Returns the part of `bytes` that may be written now.
  size_t Take(size_t bytes);
  bool SyncFails() const { return fail_syncs_.load(); }
  bool TruncateFails() const { return fail_truncates_.load(); }

 private:
  std::atomic<int64_t> space_{-1};
  std::atomic<bool> fail_syncs_{false};
  std::atomic<bool> fail_truncates_{false};
  mutable Mutex mutex_;
  std::string part_ ABSL_GUARDED_BY(mutex_);
};

// Open file. Reads and positioned writes are as thread-safe as pread and pwrite.
class File {
 public:
  enum class Mode {
    kRead,    // must exist
    kWrite,   // must exist; also reads
    kCreate,  // must not exist; created empty; also reads
  };
  // Opens a file. Returns DataLoss if the path is not a regular file. Never blocks, not even on a
  // FIFO.
  static StatusOr<std::shared_ptr<File>> Open(const std::string& path, Mode mode,
                                              std::shared_ptr<DiskFaults> faults = nullptr);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Reads up to `size` bytes starting at position `at`. Returns fewer only at the end of the file.
  StatusOr<size_t> ReadAt(int64_t at, char* into, size_t size) const;
  // Writes all bytes. After an error, some bytes may have been written. ENOSPC, EDQUOT, EFBIG, and
  // EMFILE become ResourceExhausted. EIO, ENFILE, and ENOMEM become Unavailable. All of them may be
  // temporary.
  Status WriteAt(int64_t at, std::string_view bytes);
  Status Truncate(int64_t size);
  Status Sync();  // calls fdatasync
  StatusOr<int64_t> Size() const;
  const std::string& path() const { return path_; }

 private:
  File(int fd, std::string path, std::shared_ptr<DiskFaults> faults)
      : fd_(fd), path_(std::move(path)), faults_(std::move(faults)) {}

  const int fd_;
  const std::string path_;
  const std::shared_ptr<DiskFaults> faults_;
};

// Open directory, used to flush new and renamed entries without opening another descriptor.
class Directory {
 public:
  static StatusOr<std::shared_ptr<Directory>> Open(const std::string& path);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  Status Sync() const;

 private:
  Directory(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  const int fd_;
  const std::string path_;
};

// Exclusive lock on a directory for the lifetime of the object. It locks the directory itself, so
// deleting LOCK does not release the lock. It also locks the file LOCK, which older versions check
// and which contains the owner's process ID.
class DirectoryLock {
 public:
  // Acquires the lock. Returns FailedPrecondition if another process holds the lock; the message
  // contains the directory and the owner's process ID.
  static StatusOr<std::unique_ptr<DirectoryLock>> Take(const std::string& dir);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  DirectoryLock(int folder, int fd) : folder_(folder), fd_(fd) {}
  const int folder_;
  const int fd_;
};

Status MakeDirectories(
    const std::string& path);  // like mkdir -p; only the owner can access new directories
// Removes the permissions of the group and others from `path` and its contents. Used for
// directories created by an earlier version. Returns the number of changed entries.
StatusOr<int64_t> TightenModes(const std::string& path);
Status SyncDirectory(const std::string& path);  // makes renames and new files durable
StatusOr<std::vector<std::string>> ListDirectory(
    const std::string& path);  // sorted names without . and ..
Status Rename(const std::string& from, const std::string& to);
Status Remove(const std::string& path);      // succeeds even if the path does not exist
Status RemoveTree(const std::string& path);  // succeeds even if the path does not exist
bool Exists(const std::string& path);
bool IsDirectory(const std::string& path);
// Returns the size of a regular file, or -1 if it does not exist or is not a regular file.
StatusOr<int64_t> RegularFileBytes(const std::string& path);
StatusOr<std::string> ReadWhole(const std::string& path,
                                size_t limit);  // returns ResourceExhausted above the limit
// Writes a temporary file, flushes it, and renames it. The file at the path has either the old or
// the new content, never partial content.
Status ReplaceFile(const std::string& path, std::string_view content,
                   const std::shared_ptr<DiskFaults>& faults);

}  // namespace pitwall::files
