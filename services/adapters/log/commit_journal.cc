#include "services/adapters/log/commit_journal.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "services/base/log.h"
#include "services/base/strings.h"

namespace pitwall::log {
namespace {
constexpr std::string_view kSuffix = ".journal";
}  // namespace

std::string JournalFileName(uint64_t number) { return absl::StrFormat("%020d.journal", number); }

uint64_t ParseJournalFileName(std::string_view name) {
  if (!EndsWith(name, kSuffix) || name.size() != 20 + kSuffix.size()) return 0;
  const auto number = ParseInt(name.substr(0, 20));
  return number.has_value() && *number > 0 ? static_cast<uint64_t>(*number) : 0;
}

StatusOr<std::unique_ptr<CommitJournal>> CommitJournal::Open(const std::string& dir,
                                                             uint64_t number, int64_t bytes,
                                                             int64_t checkpoint_bytes, bool flush,
                                                             std::shared_ptr<DiskFaults> faults) {
  std::unique_ptr<CommitJournal> journal(new CommitJournal(dir, std::move(faults)));
  if (number == 0) {
    bool fatal = false;
    Frame end;
    end.kind = FrameKind::kCheckpointEnd;
    RETURN_IF_ERROR(journal->Checkpoint({end}, &fatal));
    return journal;
  }
  journal->number_ = number;
  ASSIGN_OR_RETURN(journal->file_, File::Open(Cat(dir, "/", JournalFileName(number)),
                                              File::Mode::kWrite, journal->faults_));
  journal->bytes_ = journal->undo_bytes_ = bytes;
  journal->checkpoint_bytes_ = checkpoint_bytes;
  RETURN_IF_ERROR(journal->CutTail());
  // The last life did not flush it, and this one will say "all up to here is flushed".
  if (flush) RETURN_IF_ERROR(journal->file_->Sync());
  return journal;
}

Status CommitJournal::CutTail() {
  dirty_tail_ = true;
  RETURN_IF_ERROR(file_->Truncate(bytes_));
  dirty_tail_ = false;
  return OkStatus();
}

Status CommitJournal::Append(std::string_view frames) {
  // A frame of a failed commit must never be found by a recovery.
  if (dirty_tail_) RETURN_IF_ERROR(CutTail());
  if (Status written = file_->WriteAt(bytes_, frames); !written.ok()) {
    (void)CutTail();
    return written;
  }
  undo_bytes_ = bytes_;
  bytes_ += static_cast<int64_t>(frames.size());
  return OkStatus();
}

void CommitJournal::Undo() {
  bytes_ = undo_bytes_;
  (void)CutTail();
}

Status CommitJournal::Checkpoint(const std::vector<Frame>& frames, bool* fatal) {
  std::string content = JournalHeader(number_ + 1);
  for (const Frame& frame : frames) RETURN_IF_ERROR(EncodeFrame(frame, &content));
  const std::string path = Cat(dir_, "/", JournalFileName(number_ + 1));
  const std::string temporary = Cat(path, ".tmp");
  RETURN_IF_ERROR(Remove(temporary));
  std::shared_ptr<File> file;
  const auto write = [&]() -> Status {
    ASSIGN_OR_RETURN(file, File::Open(temporary, File::Mode::kCreate, faults_));
    RETURN_IF_ERROR(file->WriteAt(0, content));
    RETURN_IF_ERROR(file->Sync());
    return Rename(temporary, path);
  };
  if (const Status written = write(); !written.ok()) {
    (void)Remove(temporary);
    return Annotate(written, "checkpoint of the commit journal");
  }
  // From here on the new file is what a recovery takes.
  if (file_ != nullptr) {
    const Status removed = Remove(Cat(dir_, "/", JournalFileName(number_)));
    if (!removed.ok()) PITWALL_LOG(kWarning, "log", ToStd(removed.message()));
  }
  ++number_;
  file_ = std::move(file);
  bytes_ = undo_bytes_ = checkpoint_bytes_ = static_cast<int64_t>(content.size());
  dirty_tail_ = false;
  Status synced = SyncDirectory(dir_);
  *fatal = !synced.ok();
  return synced;
}

}  // namespace pitwall::log
