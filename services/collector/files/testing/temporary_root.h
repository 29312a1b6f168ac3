// Test helper that provides a temporary directory as a machine's root.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace pitwall::collector {

// The destructor removes the directory and its contents.
class TestRoot {
 public:
  TestRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pitwall-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TestRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestRoot(const TestRoot&) = delete;
  TestRoot& operator=(const TestRoot&) = delete;

  const std::string& path() const { return path_; }
  std::string At(std::string_view relative) const { return path_ + "/" + std::string(relative); }
  // Rewrites the file in place, because files in /proc change while they are open and are never
  // replaced.
  void Write(std::string_view relative, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(At(relative)).parent_path());
    std::ofstream(At(relative), std::ios::binary | std::ios::trunc) << content;
  }
  void Remove(std::string_view relative) const { std::filesystem::remove(At(relative)); }

 private:
  std::string path_;
};

}  // namespace pitwall::collector
