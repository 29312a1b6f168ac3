#include "services/app/host/file_watch.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "services/base/system/files.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr size_t kMaxFiles = 4096;  // limit per directory

std::vector<std::string> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry(path, error), end;
       !error && entry != end && files.size() < kMaxFiles; entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

FileChangeDetector::FileChangeDetector(std::vector<std::string> paths, bool known)
    : paths_(std::move(paths)) {
  last_ = State();
  if (known) reported_ = last_;
}

std::string FileChangeDetector::State() const {
  std::string state;
  for (const std::string& path : paths_) {
    for (const std::string& file : FilesOf(path)) {
      const StatusOr<std::string> text = ReadFile(file);
      CatTo(state, file, " ", text.ok() ? StableHashHex(*text) : "missing", "\n");
    }
  }
  return state;
}

bool FileChangeDetector::Changed() {
  std::string now = State();
  const bool settled = now == last_;
  last_ = std::move(now);
  if (!settled || last_ == reported_) return false;
  reported_ = last_;
  return true;
}

FileWatch::FileWatch(Clock* clock, int64_t interval_ns, std::vector<std::string> paths,
                     std::function<void()> changed)
    : interval_ns_(interval_ns),
      changed_(std::move(changed)),
      detector_(std::move(paths)),
      worker_(clock, "file-watch") {
  worker_.Start([this] { Run(); });
}

void FileWatch::Watch(std::vector<std::string> paths) {
  MutexLock lock(&mutex_);
  if (paths != detector_.paths()) detector_ = FileChangeDetector(std::move(paths), false);
}

void FileWatch::Run() {
  while (worker_.Wait(interval_ns_)) {
    bool changed = false;
    {
      MutexLock lock(&mutex_);
      changed = detector_.Changed();
    }
    if (changed) changed_();
  }
}

}  // namespace pitwall
