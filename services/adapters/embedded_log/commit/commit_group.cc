#include "services/adapters/embedded_log/commit/commit_group.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::log {

Status CommitGroup::StageRecords(const std::vector<RoutedRecord>& records, Frame* frame) {
  PartitionWriters::Undo undo;
  Status status = writers_->Write(records, frame, &undo);
  if (status.ok()) status = EncodeFrame(*frame, &frames_);
  if (!status.ok()) {
    for (auto& [writer, mark] : undo) writer->Rollback(mark);
    return status;
  }
  for (auto& [writer, mark] : undo) {
    if (marks_.emplace(writer, mark).second) touched_.push_back(writer);
  }
  records_ += static_cast<int64_t>(records.size());
  return OkStatus();
}

Status CommitGroup::Stage(CommitRequest* request) {
  Frame frame;
  frame.kind = FrameKind::kCommit;
  frame.sequence = sequence_ + 1;
  frame.synced_sequence = synced_sequence_;
  const std::string& committer = request->committer;
  uint64_t epoch = 0;
  if (!committer.empty()) {
    const auto given = epochs_.find(committer);
    epoch = given != epochs_.end() ? given->second : state_->Epoch(committer);
    if (request->open_committer) {
      request->epoch = ++epoch;
      frame.epochs.push_back({committer, epoch});
    } else if (epoch != request->epoch) {
      return Aborted(Cat("committer ", committer, " with epoch ", request->epoch,
                         " is fenced by epoch ", epoch));
    }
  }
  if (request->position.has_value()) frame.positions.push_back(*request->position);
  RETURN_IF_ERROR(state_->CheckRoom(request->position.has_value() ? &*request->position : nullptr,
                                    request->open_committer ? committer : std::string()));
  RETURN_IF_ERROR(StageRecords(request->records, &frame));
  if (request->open_committer) epochs_[committer] = epoch;
  if (request->position.has_value()) positions_.push_back(*request->position);
  sequence_ = frame.sequence;
  return OkStatus();
}

void CommitGroup::RollBack() {
  for (auto& [writer, mark] : marks_) writer->Rollback(mark);
}

CommittedState::Publication CommitGroup::Publish() {
  CommittedState::Publication publication;
  for (PartitionWriter* writer : touched_) publication.partitions.push_back(writer->Publish());
  publication.positions = std::move(positions_);
  for (const auto& [id, epoch] : epochs_) publication.epochs.push_back({id, epoch});
  return publication;
}

}  // namespace pitwall::log
