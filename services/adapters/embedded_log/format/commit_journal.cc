#include "services/adapters/embedded_log/format/commit_journal.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {
constexpr std::string_view kSuffix = ".journal";
constexpr size_t kMaxJournalBytes = size_t{1} << 30;
constexpr int kAttempts = 10;
constexpr std::string_view kMarkMagic = "PWSYNC01";

void StoreU64(uint64_t v, std::string* out) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(v >> (8 * i)));
}

uint64_t LoadU64(std::string_view bytes, size_t at) {
  uint64_t v = 0;
  for (size_t i = 0; i < 8; ++i) v |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return v;
}
}  // namespace

std::string JournalFileName(uint64_t number) { return absl::StrFormat("%020d.journal", number); }

uint64_t ParseJournalFileName(std::string_view name) {
  if (!EndsWith(name, kSuffix) || name.size() != 20 + kSuffix.size()) return 0;
  const auto number = ParseInt(name.substr(0, 20));
  return number.has_value() && *number > 0 ? static_cast<uint64_t>(*number) : 0;
}

StatusOr<std::unique_ptr<CommitJournal>> CommitJournal::Open(
    const std::string& dir, uint64_t number, int64_t bytes, int64_t checkpoint_bytes, bool flush,
    std::shared_ptr<files::DiskFaults> faults) {
  std::unique_ptr<CommitJournal> journal(new CommitJournal(dir, std::move(faults)));
  RETURN_IF_ERROR(journal->OpenFolder());
  if (number == 0) {
    Frame end;
    end.kind = FrameKind::kCheckpointEnd;
    RETURN_IF_ERROR(journal->Checkpoint({end}));
    return journal;
  }
  journal->number_ = number;
  ASSIGN_OR_RETURN(journal->file_, files::File::Open(Cat(dir, "/", JournalFileName(number)),
                                                     files::File::Mode::kWrite, journal->faults_));
  journal->bytes_ = journal->undo_bytes_ = bytes;
  journal->checkpoint_bytes_ = checkpoint_bytes;
  RETURN_IF_ERROR(journal->CutTail());
  // The previous process did not flush the file, but the next mark will assert that all earlier
  // data is flushed.
  if (flush) RETURN_IF_ERROR(journal->file_->Sync());
  return journal;
}

std::unique_ptr<CommitJournal> CommitJournal::ForRepair(const std::string& dir, uint64_t number) {
  std::unique_ptr<CommitJournal> journal(new CommitJournal(dir, nullptr));
  journal->number_ = number;
  if (number > 0) journal->replaced_ = Cat(dir, "/", JournalFileName(number));
  return journal;
}

Status CommitJournal::OpenFolder() {
  ASSIGN_OR_RETURN(folder_, files::Directory::Open(dir_));
  const std::string mark = Cat(dir_, "/", kSyncedMarkName);
  ASSIGN_OR_RETURN(mark_,
                   files::File::Open(mark, files::Exists(mark) ? files::File::Mode::kWrite
                                                               : files::File::Mode::kCreate));
  return OkStatus();
}

Status CommitJournal::CutTail() {
  dirty_tail_ = true;
  RETURN_IF_ERROR(file_->Truncate(bytes_));
  dirty_tail_ = false;
  return OkStatus();
}

Status CommitJournal::Append(std::string_view frames) {
  RETURN_IF_ERROR(distrusted_);
  if (folder_dirty_) RETURN_IF_ERROR(SyncFolder());
  // The remains of a failed commit must be removed. Otherwise, recovery might read its frame.
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

Status CommitJournal::Sync() {
  Status synced = file_->Sync();
  if (!synced.ok()) distrusted_ = synced;
  return synced;
}

Status CommitJournal::SyncFolder() {
  RETURN_IF_ERROR(folder_->Sync());
  folder_dirty_ = false;
  if (!replaced_.empty()) {
    const Status removed = files::Remove(replaced_);
    if (!removed.ok()) PITWALL_LOG(kWarning, "log", ToStd(removed.message()));
    replaced_.clear();
  }
  return OkStatus();
}

void CommitJournal::Mark(uint64_t sequence) {
  // An older mark is still valid, so a failure is only logged.
  const Status written = mark_->WriteAt(0, EncodeMark({number_, sequence}));
  if (!written.ok()) PITWALL_LOG(kWarning, "log", ToStd(written.message()));
  if (written.ok()) marked_ = sequence;
}

Status CommitJournal::Checkpoint(const std::vector<Frame>& frames) {
  if (folder_dirty_) RETURN_IF_ERROR(SyncFolder());
  std::string content = JournalHeader(number_ + 1);
  for (const Frame& frame : frames) RETURN_IF_ERROR(EncodeFrame(frame, &content));
  const std::string path = Cat(dir_, "/", JournalFileName(number_ + 1));
  const std::string temporary = Cat(path, ".tmp");
  RETURN_IF_ERROR(files::Remove(temporary));
  std::shared_ptr<files::File> file;
  const auto write = [&]() -> Status {
    ASSIGN_OR_RETURN(file, files::File::Open(temporary, files::File::Mode::kCreate, faults_));
    RETURN_IF_ERROR(file->WriteAt(0, content));
    RETURN_IF_ERROR(file->Sync());
    return files::Rename(temporary, path);
  };
  if (const Status written = write(); !written.ok()) {
    (void)files::Remove(temporary);
    return Annotate(written, "checkpoint of the commit journal");
  }
  // Recovery uses the new file once the directory is flushed. Until that flush, the old file is
  // kept.
  if (file_ != nullptr) replaced_ = Cat(dir_, "/", JournalFileName(number_));
  ++number_;
  file_ = std::move(file);
  bytes_ = undo_bytes_ = checkpoint_bytes_ = static_cast<int64_t>(content.size());
  dirty_tail_ = false;
  distrusted_ = OkStatus();
  folder_dirty_ = true;
  RETURN_IF_ERROR(SyncFolder());
  Mark(frames.back().sequence);
  return OkStatus();
}

StatusOr<LoadedJournal> LoadJournal(const std::string& dir) {
  for (int attempt = 1;; ++attempt) {
    LoadedJournal journal;
    auto names = files::ListDirectory(dir);
    if (names.status().code() == absl::StatusCode::kNotFound) return journal;
    RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      const std::string path = Cat(dir, "/", name);
      if (EndsWith(name, ".tmp")) journal.older.push_back(path);
      const uint64_t number = ParseJournalFileName(name);
      if (number == 0) continue;
      if (journal.number > 0) journal.older.push_back(journal.path);
      journal.number = number;  // sorting the names sorts the numbers
      journal.path = path;
    }
    if (journal.number == 0) return journal;
    auto content = files::ReadWhole(journal.path, kMaxJournalBytes);
    // In a read-only log, the writer's checkpoint may have just replaced the file.
    if (content.status().code() == absl::StatusCode::kNotFound && attempt < kAttempts) continue;
    RETURN_IF_ERROR(content.status());
    journal.content = *std::move(content);
    return journal;
  }
}

std::string EncodeMark(const SyncedMark& mark) {
  std::string bytes(kMarkMagic);
  StoreU64(mark.journal, &bytes);
  StoreU64(mark.sequence, &bytes);
  StoreU64(Crc32c(bytes), &bytes);
  return bytes;
}

StatusOr<SyncedMark> DecodeMark(std::string_view bytes) {
  constexpr size_t kBytes = 32;
  if (bytes.size() != kBytes)
    return DataLoss(Cat("must be ", kBytes, " bytes long (got ", bytes.size(), ")"));
  if (bytes.substr(0, kMarkMagic.size()) != kMarkMagic) return DataLoss("unknown format");
  if (LoadU64(bytes, kBytes - 8) != Crc32c(bytes.substr(0, kBytes - 8))) {
    return DataLoss("wrong checksum");
  }
  return SyncedMark{LoadU64(bytes, 8), LoadU64(bytes, 16)};
}

}  // namespace pitwall::log
