// Commit journal with frame sequence numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "services/adapters/embedded_log/format/commit_frame.h"
#include "services/adapters/embedded_log/format/commit_journal.h"
#include "services/adapters/files/file.h"
#include "services/base/status.h"

namespace pitwall::log {

// Commit journal that numbers its frames and tracks which of them are on disk. Counts its flushes.
// Not thread-safe: guarded by the writer lock.
class SequencedJournal {
 public:
  // Continues after `sequence`, the newest frame in the journal.
  SequencedJournal(std::unique_ptr<CommitJournal> journal, uint64_t sequence)
      : journal_(std::move(journal)), sequence_(sequence), commit_sequence_(sequence) {}

  uint64_t sequence() const { return sequence_; }                // newest frame
  uint64_t commit_sequence() const { return commit_sequence_; }  // newest commit frame
  uint64_t synced_sequence() const { return synced_sequence_; }  // newest frame known to be on disk

  // Appends encoded commit frames. On success, the caller must call NoteCommits.
  Status Append(std::string_view frames) { return journal_->Append(frames); }
  // Appends encoded commit frames and flushes them. After an error, removes them again.
  Status AppendDurably(std::string_view frames);
  // Records that the appended commit frames end with `sequence`. `durable` means that all frames
  // and their records are on disk.
  void NoteCommits(uint64_t sequence, bool durable);

  // Appends a frame with `facts` and sets its kind and sequences.
  Status AppendFacts(Frame facts);
  // Flushes the file.
  Status Sync();
  // Records the result of a flush of `file`, which the caller obtained from file() and flushed
  // without holding the writer lock. After a failure, the file is no longer trusted unless a
  // checkpoint has replaced it.
  void NoteFlush(const std::shared_ptr<files::File>& file, const Status& synced);
  // Marks the records of all commits up to `sequence` as flushed. If `durable` is set, also flushes
  // the mark.
  Status MarkSynced(uint64_t sequence, bool durable);
  // Replaces the journal with `frames`, which contain the state up to sequence().
  Status Checkpoint(const std::vector<Frame>& frames);

  // Returns the error from a failed flush until a checkpoint replaces the file.
  const Status& distrusted() const { return journal_->distrusted(); }
  // Returns true if the mark of the newest flushed frame covers all frames.
  bool AllMarked() const { return sequence_ <= journal_->marked(); }
  bool CheckpointDue(int64_t least) const { return journal_->CheckpointDue(least); }
  std::shared_ptr<files::File> file() const { return journal_->file(); }

  int64_t bytes() const { return journal_->bytes(); }  // current size of the file
  int64_t flushes() const { return flushes_; }
  int64_t failed_flushes() const { return failed_flushes_; }
  int64_t checkpoints() const { return checkpoints_; }

 private:
  const std::unique_ptr<CommitJournal> journal_;
  uint64_t sequence_;
  uint64_t commit_sequence_;
  uint64_t synced_sequence_ = 0;
  int64_t flushes_ = 0;
  int64_t failed_flushes_ = 0;
  int64_t checkpoints_ = 0;
};

}  // namespace pitwall::log
