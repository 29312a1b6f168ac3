// Files that are looked at now and then, so that what changes in them takes effect without a
// signal.
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

// Whether files have changed, by their bytes: a volume of Kubernetes swaps a link and keeps times
// that say nothing. Of a folder, its files are looked at, without those below it.
class FileLook {
 public:
  // What is there now is the state to compare with; if not `known`, it is the first change.
  explicit FileLook(std::vector<std::string> paths, bool known = true);
  const std::vector<std::string>& paths() const { return paths_; }
  // True once for each change, when two looks in a row have seen the same new state: a file that
  // is being written is left alone until it is whole. A file that comes or goes is a change.
  bool Changed();

 private:
  std::string State() const;

  std::vector<std::string> paths_;
  std::string told_;
  std::string last_;
};

// A thread that looks once in each interval.
class FileWatch {
 public:
  // The clock is borrowed. `changed` is called by the thread.
  FileWatch(Clock* clock, int64_t interval_ns, std::vector<std::string> paths,
            std::function<void()> changed);
  ~FileWatch();
  // Other files from now on. Told as changed once, since they may have changed after the caller
  // read them. The same files as before: nothing.
  void Watch(std::vector<std::string> paths);

 private:
  void Run();

  const int64_t interval_ns_;
  const std::function<void()> changed_;
  Mutex mutex_;
  FileLook look_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Wakeup> wakeup_;
  std::thread thread_;
};

}  // namespace pitwall
