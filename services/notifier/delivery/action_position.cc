#include "services/notifier/delivery/action_position.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text/strings.h"
#include "services/io/log_fingerprint.h"
#include "services/notifier/delivery/stored_position.h"

namespace pitwall::notifier {

ActionPosition::ActionPosition(Clock* clock, Log* log, const IssueActions* acted, std::string group,
                               ReceiverReport* report)
    : clock_(clock), log_(log), acted_(acted), group_(std::move(group)), report_(report) {}

Status ActionPosition::Open(bool from_start) {
  next_ = acted_->Next();
  states_.assign(next_.size(), ActionPositionState::kMoved);
  for (size_t p = 0; p < next_.size(); ++p) {
    ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed,
                     log_->Committed(group_, At(p)));
    if (committed) {
      Resume(p, committed->offset);
    } else {
      RETURN_IF_ERROR(Begin(p, from_start ? 0 : next_[p]));
    }
  }
  return OkStatus();
}

Status ActionPosition::Begin(size_t partition, int64_t offset) {
  next_[partition] = offset;
  RETURN_IF_ERROR(log_->StorePosition(group_, At(partition), {offset, ""}));
  states_[partition] = ActionPositionState::kStored;
  return OkStatus();
}

void ActionPosition::Resume(size_t partition, int64_t offset) {
  next_[partition] = offset;
  states_[partition] = ActionPositionState::kStored;
  const Positions ends = acted_->Next();
  if (partition >= ends.size() || offset <= ends[partition]) return;
  const Status reset =
      LogIsBehind(At(partition), ends[partition], offset, "treating its records as new");
  report_->RecordReset(std::string(ToStd(reset.message())), clock_->MonotonicNs());
  next_[partition] = 0;
  states_[partition] = ActionPositionState::kReplaced;
}

void ActionPosition::Advance(const std::function<bool(const IssueActions::Act&)>& send) {
  const Positions end = acted_->Next();
  if (next_ == end) return;
  for (size_t p = 0; p < std::min(next_.size(), end.size()); ++p) {
    // The reader's position has moved back because the log was replaced.
    if (next_[p] > end[p]) MoveTo(p, 0);
  }
  for (const IssueActions::Act& act : acted_->Since(next_)) {
    if (!send(act)) return;
    MoveTo(static_cast<size_t>(act.partition), act.offset + 1);
  }
  for (size_t p = 0; p < end.size(); ++p)
    MoveTo(p, p < next_.size() ? std::max(next_[p], end[p]) : end[p]);
}

void ActionPosition::MoveTo(size_t partition, int64_t offset) {
  if (partition >= next_.size()) {
    next_.resize(partition + 1, 0);
    states_.resize(partition + 1, ActionPositionState::kMoved);
  }
  if (next_[partition] == offset) return;
  next_[partition] = offset;
  states_[partition] = ActionPositionState::kMoved;
}

bool ActionPosition::moved() const {
  return std::find(states_.begin(), states_.end(), ActionPositionState::kMoved) != states_.end();
}

void ActionPosition::StoreIfDue(int64_t now_ns) {
  if (moved() && now_ns >= retry_ns_) Store();
}

void ActionPosition::Store() {
  retry_ns_ = clock_->MonotonicNs() + StoredPosition::kStoreIntervalNs;
  for (size_t p = 0; p < next_.size(); ++p) {
    if (states_[p] != ActionPositionState::kMoved) continue;
    const Status stored = log_->StorePosition(group_, At(p), {next_[p], ""});
    if (stored.ok()) {
      states_[p] = ActionPositionState::kStored;
    } else {
      report_->RecordStoreFailure(stored);
    }
  }
}

}  // namespace pitwall::notifier
