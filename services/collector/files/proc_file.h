// A small text file of the system that is read again and again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall::collector {

// True if a read that failed with this errno proves that the file or process does not exist. Any
// other error (no descriptor, no memory, no permission, I/O) says nothing about it.
bool IsAbsence(int error_number);

// Keeps the file open and its buffer allocated: a reading is one pread or two. A file that fails is
// opened again at the next reading. Without a free descriptor it borrows one of the reserve for one
// reading. Not thread-safe.
class ProcFile {
 public:
  explicit ProcFile(std::string path);
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;

  // The content, at most `limit` bytes of it; valid until the next Read. Nothing when it cannot be
  // read: error() says why (errno).
  std::optional<std::string_view> Read(size_t limit = kDefaultLimit);
  int error() const { return error_; }
  const std::string& path() const { return path_; }

  static constexpr size_t kDefaultLimit = 1u << 20;

 private:
  void Open();
  void Close();

  std::string path_;
  std::string buffer_;
  int fd_ = -1;
  bool lent_ = false;  // fd_ is of the reserve
  int error_ = 0;
};

// root + relative, with exactly one slash between them.
std::string UnderRoot(std::string_view root, std::string_view relative);

// The names in a folder, sorted; none when there is no such folder or it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);

// The path of a file of the host's /proc/net. In a container the host's /proc shows the reader's
// own network unless it is asked for that of process 1.
std::string HostNetFile(std::string_view root, std::string_view name);

}  // namespace pitwall::collector
