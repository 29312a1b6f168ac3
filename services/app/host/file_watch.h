// Periodic check for file changes, so that changes take effect without a signal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/system/worker.h"

namespace pitwall {

// Change detector that compares file contents. Modification times are not sufficient because
// Kubernetes updates a volume by replacing a symbolic link. For a directory, the detector checks
// the files directly in it but not its subdirectories.
class FileChangeDetector {
 public:
  // The current contents are the baseline for the next check. If `known` is false, the current
  // contents are reported as the first change.
  explicit FileChangeDetector(std::vector<std::string> paths, bool known = true);
  const std::vector<std::string>& paths() const { return paths_; }
  // Returns true once per change, after two consecutive checks see the same new contents. The delay
  // prevents a reload from reading a partially written file. Creating or removing a file is also a
  // change.
  bool Changed();

 private:
  std::string State() const;

  std::vector<std::string> paths_;
  std::string reported_;
  std::string last_;
};

// Thread that checks files at a fixed interval.
class FileWatch {
 public:
  // `changed` is called on the watch's thread. The clock must outlive the watch.
  FileWatch(Clock* clock, int64_t interval_ns, std::vector<std::string> paths,
            std::function<void()> changed);
  // Replaces the list of files. Calls `changed` once, because the new files may have changed after
  // the caller read them. Does nothing if the list is unchanged.
  void Watch(std::vector<std::string> paths);

 private:
  void Run();

  const int64_t interval_ns_;
  const std::function<void()> changed_;
  Mutex mutex_;
  FileChangeDetector detector_ ABSL_GUARDED_BY(mutex_);
  Worker worker_;
};

}  // namespace pitwall
