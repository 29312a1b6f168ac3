#include "services/notifier/delivery/action_position.h"

#include <algorithm>
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
  for (size_t p = 0; p < next_.size(); ++p) {
    const TopicPartition at{acted_->topic(), static_cast<int32_t>(p)};
    ASSIGN_OR_RETURN(const std::optional<CommittedOffset> committed, log_->Committed(group_, at));
    if (committed) {
      next_[p] = committed->offset;
      const Positions ends = acted_->Next();
      if (p < ends.size() && next_[p] > ends[p]) {
        const Status reset = LogIsBehind(at, ends[p], next_[p], "treating its records as new");
        report_->RecordReset(std::string(ToStd(reset.message())), clock_->MonotonicNs());
        next_[p] = 0;
      }
    } else {
      if (from_start) next_[p] = 0;
      RETURN_IF_ERROR(log_->StorePosition(group_, at, {next_[p], ""}));
    }
  }
  stored_ = next_;
  return OkStatus();
}

void ActionPosition::Advance(const std::function<bool(const IssueActions::Act&)>& send) {
  const Positions end = acted_->Next();
  if (next_ == end) return;
  for (size_t p = 0; p < std::min(next_.size(), end.size()); ++p) {
    // Reset the position if the reader's position has moved back because the log was replaced.
    if (next_[p] > end[p]) next_[p] = 0;
  }
  for (const IssueActions::Act& act : acted_->Since(next_)) {
    if (!send(act)) return;
    const auto p = static_cast<size_t>(act.partition);
    if (p >= next_.size()) next_.resize(p + 1, 0);
    next_[p] = act.offset + 1;
  }
  next_.resize(std::max(next_.size(), end.size()), 0);
  for (size_t p = 0; p < end.size(); ++p) next_[p] = std::max(next_[p], end[p]);
}

void ActionPosition::StoreIfDue(int64_t now_ns) {
  if (next_ != stored_ && now_ns >= retry_ns_) Store();
}

void ActionPosition::Store() {
  retry_ns_ = clock_->MonotonicNs() + StoredPosition::kStoreIntervalNs;
  stored_.resize(next_.size(), -1);
  for (size_t p = 0; p < next_.size(); ++p) {
    if (next_[p] == stored_[p]) continue;
    const Status stored =
        log_->StorePosition(group_, {acted_->topic(), static_cast<int32_t>(p)}, {next_[p], ""});
    if (stored.ok()) {
      stored_[p] = next_[p];
    } else {
      report_->RecordStoreFailure(stored);
    }
  }
}

}  // namespace pitwall::notifier
