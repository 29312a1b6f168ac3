// A small system file that is read repeatedly.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall::collector {

// Returns true if a failed read with this errno proves that the file or process does not exist.
// Other errors (I/O errors, or lack of descriptors, memory, or permission) prove nothing.
bool IsAbsence(int error_number);

// Keeps the file open and its buffer allocated, so that a read takes one or two pread calls. After
// a failure, the next read reopens the file. If no descriptor is free, a read borrows one from the
// reserve. Not thread-safe.
class ProcFile {
 public:
  explicit ProcFile(std::string path);
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;

  // Returns at most `limit` bytes of the file's content, valid until the next Read. Returns nullopt
  // if the file cannot be read; error() then returns the errno.
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
  bool lent_ = false;  // fd_ belongs to the reserve
  int error_ = 0;
};

// Returns root + relative with exactly one slash between them.
std::string UnderRoot(std::string_view root, std::string_view relative);

// Returns the sorted names in a directory. The result is empty if the directory does not exist or
// cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);

// Returns the path of a file in the host's /proc/net. In a container, even the host's /proc/net
// shows the reader's network, so the path refers to process 1.
std::string HostNetFile(std::string_view root, std::string_view name);

}  // namespace pitwall::collector
