#include "services/adapters/embedded_log/commit/sequenced_journal.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pitwall::log {

Status SequencedJournal::AppendDurably(std::string_view frames) {
  RETURN_IF_ERROR(journal_->Append(frames));
  Status synced = Sync();
  if (!synced.ok()) journal_->Undo();
  return synced;
}

void SequencedJournal::NoteCommits(uint64_t sequence, bool durable) {
  sequence_ = commit_sequence_ = sequence;
  if (durable) {
    synced_sequence_ = sequence_;
    journal_->Mark(sequence_);
  }
}

Status SequencedJournal::AppendFacts(Frame facts) {
  facts.kind = FrameKind::kSynced;
  facts.sequence = sequence_ + 1;
  facts.synced_sequence = std::max(facts.synced_sequence, synced_sequence_);
  std::string bytes;
  RETURN_IF_ERROR(EncodeFrame(facts, &bytes));
  RETURN_IF_ERROR(journal_->Append(bytes));
  sequence_ = facts.sequence;
  return OkStatus();
}

Status SequencedJournal::Sync() {
  ++flushes_;
  Status synced = journal_->Sync();
  if (!synced.ok()) ++failed_flushes_;
  return synced;
}

void SequencedJournal::NoteFlush(const std::shared_ptr<files::File>& file, const Status& synced) {
  ++flushes_;
  if (synced.ok()) return;
  ++failed_flushes_;
  // A checkpoint may have replaced the file during the flush.
  if (journal_->file() == file) journal_->Distrust(synced);
}

Status SequencedJournal::MarkSynced(uint64_t sequence, bool durable) {
  if (sequence > synced_sequence_) {
    Frame mark;
    mark.synced_sequence = sequence;
    RETURN_IF_ERROR(AppendFacts(std::move(mark)));
    synced_sequence_ = sequence;
  }
  if (!durable) {
    journal_->Mark(sequence);
    return OkStatus();
  }
  RETURN_IF_ERROR(Sync());
  journal_->Mark(sequence_);
  return OkStatus();
}

Status SequencedJournal::Checkpoint(const std::vector<Frame>& frames) {
  ++flushes_;
  RETURN_IF_ERROR(journal_->Checkpoint(frames));
  ++checkpoints_;
  synced_sequence_ = sequence_;
  return OkStatus();
}

}  // namespace pitwall::log
