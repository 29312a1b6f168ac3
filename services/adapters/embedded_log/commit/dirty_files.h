// Set of written files that have not been flushed yet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "services/adapters/embedded_log/format/committed_state.h"
#include "services/adapters/files/file.h"
#include "services/base/status.h"

namespace pitwall::log {

// Files and directories that must be flushed before the written commits are durable.
struct DirtyFiles {
  struct Entry {
    std::shared_ptr<files::File> file;
    CommittedState::Partition* partition = nullptr;
    int64_t from = 0;  // earlier bytes are already flushed
  };
  std::map<const files::File*, Entry> files;
  // Directories kept open so that a flush does not need a new file descriptor.
  std::map<CommittedState::Partition*, std::shared_ptr<files::Directory>> directories;
  bool empty() const { return files.empty() && directories.empty(); }
  void clear() {
    files.clear();
    directories.clear();
  }
  void Add(const std::shared_ptr<files::File>& file, CommittedState::Partition* partition,
           int64_t from) {
    files.try_emplace(file.get(), Entry{file, partition, from});
  }
  void Add(const DirtyFiles& others) {
    for (const auto& [key, entry] : others.files) {
      const auto [slot, added] = files.try_emplace(key, entry);
      if (!added) slot->second.from = std::min(slot->second.from, entry.from);
    }
    directories.insert(others.directories.begin(), others.directories.end());
  }
};

// Result of flushing a set of files.
struct FlushResult {
  Status first;  // first error
  std::map<CommittedState::Partition*, Status> failed;
  DirtyFiles left;  // files and directories that could not be flushed
  int64_t flushes = 0;
};

// Flushes all directories, then all files. Continues after an error. Thread-safe.
FlushResult FlushFiles(const DirtyFiles& dirty);

// Rewrites pages that a failed flush may have marked clean without writing them. The rewrite makes
// them dirty again, so the next flush retries them.
Status WriteAgain(const DirtyFiles::Entry& entry);

}  // namespace pitwall::log
