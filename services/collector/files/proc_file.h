// A small system file that is read repeatedly.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall::collector {

// Returns true if a failed read with this errno proves that the file or process does not exist.
// Other errors (no descriptor, memory, or permission; I/O) prove nothing.
bool IsAbsence(int error_number);

// Keeps the file open and its buffer allocated, so that a reading costs one or two preads. After a
// failure, the next reading opens the file again. Without a free descriptor, a reading borrows one
// from the reserve. Not thread-safe.
class ProcFile {
 public:
  explicit ProcFile(std::string path);
  ~ProcFile();
  ProcFile(ProcFile&& other) noexcept;
  ProcFile& operator=(ProcFile&& other) noexcept;

  // Returns the content, at most `limit` bytes, which is valid until the next Read. Returns nullopt
  // if the file cannot be read; error() is then the errno.
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

// Returns the sorted names in a directory, or none if it does not exist or cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);

// Returns the path of a file of the host's /proc/net. In a container, the host's /proc/net shows
// the reader's own network, so the path refers to process 1.
std::string HostNetFile(std::string_view root, std::string_view name);

}  // namespace pitwall::collector
