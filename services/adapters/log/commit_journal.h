// The journal file that is written now: frames are appended; a checkpoint begins the next file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/log/commit_frame.h"
#include "services/adapters/log/file.h"
#include "services/base/status.h"

namespace pitwall::log {

// <dir>/commits/<number>.journal; what is no such name: 0.
std::string JournalFileName(uint64_t number);
uint64_t ParseJournalFileName(std::string_view name);

// Not thread-safe: the writer's lock guards it.
class CommitJournal {
 public:
  // Continues the file `number` behind its first `bytes` (what comes after them is cut off), or,
  // with number 0, makes the first one. `flush`: what is there may not be on the disk yet.
  static StatusOr<std::unique_ptr<CommitJournal>> Open(const std::string& dir, uint64_t number,
                                                       int64_t bytes, int64_t checkpoint_bytes,
                                                       bool flush,
                                                       std::shared_ptr<DiskFaults> faults);

  // All of `frames` is there afterwards, or nothing. While what a failed append left cannot be cut
  // off, appends fail.
  Status Append(std::string_view frames);
  // Takes the frames of the last Append back. When that fails later appends do.
  void Undo();
  // A new file with `frames`, on the disk before it takes the place of the old one. On failure the
  // old one goes on (unless the directory could not be flushed: then the log must stop, and *fatal
  // is set).
  Status Checkpoint(const std::vector<Frame>& frames, bool* fatal);

  std::shared_ptr<File> file() const { return file_; }
  int64_t bytes() const { return bytes_; }
  // Grown since the last checkpoint by more than `least` and by more than the checkpoint's own
  // size.
  bool CheckpointDue(int64_t least) const {
    return bytes_ - checkpoint_bytes_ > std::max(least, checkpoint_bytes_);
  }

 private:
  CommitJournal(std::string dir, std::shared_ptr<DiskFaults> faults)
      : dir_(std::move(dir)), faults_(std::move(faults)) {}
  Status CutTail();

  const std::string dir_;
  const std::shared_ptr<DiskFaults> faults_;
  uint64_t number_ = 0;
  std::shared_ptr<File> file_;
  int64_t bytes_ = 0;
  int64_t undo_bytes_ = 0;
  int64_t checkpoint_bytes_ = 0;
  bool dirty_tail_ = false;
};

}  // namespace pitwall::log
