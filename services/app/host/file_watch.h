// Periodic check of files for changes, so that changes take effect without a signal.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace pitwall {

// Detector of changes of files by their content. Times would not do, because a volume of Kubernetes
// replaces a link. Of a directory it checks the files, without subdirectories.
class FileChangeDetector {
 public:
  // Compares later states with the current one. Without `known` the current state is the first
  // change.
  explicit FileChangeDetector(std::vector<std::string> paths, bool known = true);
  const std::vector<std::string>& paths() const { return paths_; }
  // Returns true once per change, after two consecutive checks have seen the same new state, so
  // that a file is not read while it is written. Creation and removal of a file are changes.
  bool Changed();

 private:
  std::string State() const;

  std::vector<std::string> paths_;
  std::string told_;
  std::string last_;
};

// Thread that checks the files once per interval.
class FileWatch {
 public:
  // The thread calls `changed`. The clock must outlive the watch.
  FileWatch(Clock* clock, int64_t interval_ns, std::vector<std::string> paths,
            std::function<void()> changed);
  ~FileWatch();
  // Replaces the files. Calls `changed` once, because the new files may have changed after the
  // caller read them. Does nothing for the same files.
  void Watch(std::vector<std::string> paths);

 private:
  void Run();

  const int64_t interval_ns_;
  const std::function<void()> changed_;
  Mutex mutex_;
  FileChangeDetector detector_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
};

}  // namespace pitwall
