#include "services/base/system/files.h"

#include <cerrno>
#include <cstdio>
#include <memory>

#include "services/base/text/strings.h"

namespace pitwall {

StatusOr<std::string> ReadFile(const std::string& path, size_t limit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return ErrnoStatus(errno, path);
  std::string text;
  char buffer[65536];
  while (true) {
    const size_t n = std::fread(buffer, 1, sizeof(buffer), file.get());
    text.append(buffer, n);
    if (text.size() > limit)
      return ResourceExhausted(Cat(path, ": file is longer than ", limit, " bytes"));
    if (n < sizeof(buffer)) break;
  }
  if (std::ferror(file.get())) return ErrnoStatus(errno, path);
  return text;
}

Status WriteFile(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  std::FILE* const file = std::fopen(fresh.c_str(), "wb");
  if (file == nullptr) return ErrnoStatus(errno, path);
  int error = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0)
    error = errno;  // some file systems report a full disk only here
  if (error == 0 && std::rename(fresh.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return OkStatus();
  std::remove(fresh.c_str());
  return ErrnoStatus(error, path);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace pitwall
