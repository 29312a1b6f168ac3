// Current commit journal file. Frames are appended to it, and a checkpoint starts the next file.
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

// Conversions between a number and the file name <dir>/commits/<number>.journal. Any other name
// parses as 0.
std::string JournalFileName(uint64_t number);
uint64_t ParseJournalFileName(std::string_view name);

// Complete content of the newest journal file in a directory.
struct LoadedJournal {
  uint64_t number = 0;
  std::string path;
  std::string content;
  std::vector<std::string> older;  // paths of older files that a checkpoint left behind
};
StatusOr<LoadedJournal> LoadJournal(const std::string& dir);

// Newest sequence known to be on disk. It is stored outside the journal in <dir>/commits/synced and
// written in place. If the journal ends before `sequence`, the journal was truncated or is an older
// copy.
struct SyncedMark {
  uint64_t journal = 0;   // number of the journal file
  uint64_t sequence = 0;  // sequence of a frame that is on disk
};
inline constexpr std::string_view kSyncedMarkName = "synced";
std::string EncodeMark(const SyncedMark& mark);
StatusOr<SyncedMark> DecodeMark(std::string_view bytes);  // fails with DataLoss

// Not thread-safe: guarded by the writer lock.
class CommitJournal {
 public:
  // Continues file `number` after its first `bytes` bytes and truncates the rest. If `number` is 0,
  // creates the first file. `flush` means that the existing content may not be on disk yet.
  static StatusOr<std::unique_ptr<CommitJournal>> Open(const std::string& dir, uint64_t number,
                                                       int64_t bytes, int64_t checkpoint_bytes,
                                                       bool flush,
                                                       std::shared_ptr<files::DiskFaults> faults);

  // Returns a journal for a repair. The journal does not read or continue a file; Checkpoint
  // creates the file after `number`.
  static std::unique_ptr<CommitJournal> ForRepair(const std::string& dir, uint64_t number);
  Status OpenFolder();

  // Appends either all of `frames` or nothing. Fails until the remains of an earlier failed append
  // can be truncated.
  Status Append(std::string_view frames);
  // Removes the frames of the last Append. If the removal fails, later appends fail.
  void Undo();
  // Writes `frames` to a new file and flushes the file before it replaces the old file. After an
  // error, the old file stays current. If only the flush of the directory fails, the new file is
  // current, but appends fail until that flush succeeds.
  Status Checkpoint(const std::vector<Frame>& frames);
  // Flushes the file. After a failure, the file is no longer trusted, so appends fail until a
  // checkpoint creates a new file.
  Status Sync();
  // Records that the caller failed to flush file().
  void Distrust(const Status& status) { distrusted_ = status; }
  const Status& distrusted() const { return distrusted_; }
  // Records that the frames up to `sequence` are on disk. Writes in place and needs no additional
  // space.
  void Mark(uint64_t sequence);
  uint64_t marked() const { return marked_; }

  std::shared_ptr<files::File> file() const { return file_; }
  int64_t bytes() const { return bytes_; }
  // Returns true if the file's growth since the last checkpoint exceeds both `least` and the size
  // of that checkpoint.
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
  // Directory kept open so that a flush does not need a new file descriptor.
  std::shared_ptr<files::Directory> folder_;
  bool folder_dirty_ = false;
  std::string replaced_;  // path of the previous file until the directory is flushed
  Status distrusted_;
  std::shared_ptr<files::File> mark_;
  uint64_t marked_ = 0;  // last mark written by this object
};

}  // namespace pitwall::log
