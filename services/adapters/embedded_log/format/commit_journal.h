// The journal file that is written now: frames are appended; a checkpoint begins the next file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/files/file.h"
#include "services/base/status.h"

namespace pitwall::log {

// <dir>/commits/<number>.journal; what is no such name: 0.
std::string JournalFileName(uint64_t number);
uint64_t ParseJournalFileName(std::string_view name);

// The newest journal file of a folder, whole.
struct LoadedJournal {
  uint64_t number = 0;
  std::string path;
  std::string content;
  std::vector<std::string> older;  // paths that a checkpoint left
};
StatusOr<LoadedJournal> LoadJournal(const std::string& dir);

// What is known to be on the disk, beside the journal: <dir>/commits/synced, written in place. A
// journal that ends before `sequence` was cut, or is an older copy.
struct SyncedMark {
  uint64_t journal = 0;   // the file's number
  uint64_t sequence = 0;  // of a frame that is on the disk
};
inline constexpr std::string_view kSyncedMarkName = "synced";
std::string EncodeMark(const SyncedMark& mark);
StatusOr<SyncedMark> DecodeMark(std::string_view bytes);  // DataLoss

// Not thread-safe: the writer's lock guards it.
class CommitJournal {
 public:
  // Continues the file `number` behind its first `bytes` (what comes after them is cut off), or,
  // with number 0, makes the first one. `flush`: what is there may not be on the disk yet.
  static StatusOr<std::unique_ptr<CommitJournal>> Open(const std::string& dir, uint64_t number,
                                                       int64_t bytes, int64_t checkpoint_bytes,
                                                       bool flush,
                                                       std::shared_ptr<files::DiskFaults> faults);

  // For a repair: nothing is read or continued; Checkpoint begins the file after `number`.
  static std::unique_ptr<CommitJournal> ForRepair(const std::string& dir, uint64_t number);
  Status OpenFolder();

  // All of `frames` is there afterwards, or nothing. While what a failed append left cannot be cut
  // off, appends fail.
  Status Append(std::string_view frames);
  // Takes the frames of the last Append back. When that fails later appends do.
  void Undo();
  // A new file with `frames`, on the disk before it takes the place of the old one. On failure the
  // old one goes on; where only the folder could not be flushed the new one does, and nothing is
  // appended before that has worked.
  Status Checkpoint(const std::vector<Frame>& frames);
  // Flushes the file. After a failure the file is not trusted any more: nothing is appended before
  // a checkpoint has made a new one.
  Status Sync();
  // Whatever was flushed outside (file()) failed.
  void Distrust(const Status& status) { distrusted_ = status; }
  const Status& distrusted() const { return distrusted_; }
  // Notes that the frames up to `sequence` are on the disk. In place: needs no space.
  void Mark(uint64_t sequence);
  uint64_t marked() const { return marked_; }

  std::shared_ptr<files::File> file() const { return file_; }
  int64_t bytes() const { return bytes_; }
  // Grown since the last checkpoint by more than `least` and by more than the checkpoint's own
  // size.
  bool CheckpointDue(int64_t least) const {
    return bytes_ - checkpoint_bytes_ > std::max(least, checkpoint_bytes_);
  }

 private:
  CommitJournal(std::string dir, std::shared_ptr<files::DiskFaults> faults)
      : dir_(std::move(dir)), faults_(std::move(faults)) {}
  Status CutTail();
  Status SyncFolder();

  const std::string dir_;
  const std::shared_ptr<files::DiskFaults> faults_;
  uint64_t number_ = 0;
  std::shared_ptr<files::File> file_;
  int64_t bytes_ = 0;
  int64_t undo_bytes_ = 0;
  int64_t checkpoint_bytes_ = 0;
  bool dirty_tail_ = false;
  std::shared_ptr<files::Directory> folder_;  // kept open: a flush must not need a descriptor
  bool folder_dirty_ = false;
  std::string replaced_;  // path of the file before, until the folder is flushed
  Status distrusted_;
  std::shared_ptr<files::File> mark_;
  uint64_t marked_ = 0;  // by this object
};

}  // namespace pitwall::log
