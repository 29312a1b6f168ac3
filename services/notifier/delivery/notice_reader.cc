#include "services/notifier/delivery/notice_reader.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::notifier {
namespace {

constexpr int64_t kRetryReadNs = kNanosPerSecond;

}  // namespace

NoticeReader::NoticeReader(Clock* clock, TopicCursor cursor, DeliveryQueue* queue,
                           NoticeSelection* selection, StoredPosition* position,
                           ActionPosition* actions, const std::atomic<bool>* stop,
                           ReceiverReport* report)
    : clock_(clock),
      cursor_(std::move(cursor)),
      queue_(queue),
      selection_(selection),
      position_(position),
      actions_(actions),
      stop_(stop),
      report_(report) {}

void NoticeReader::Fill() {
  const int64_t now = clock_->MonotonicNs();
  if (now < retry_ns_) return;
  std::vector<FeedItem> items;
  while (!*stop_ && queue_->room() > 0) {
    items = {};
    const Status read = cursor_.Next(queue_->room(), &items);
    for (const FeedItem& item : items) position_->AddMark(item);
    selection_->Take(std::move(items), now);
    if (cursor_.caught_up()) selection_->Settle(cursor_.positions(), now);
    // The issues that the actions refer to must be sent first.
    if (!selection_->keeps_state() || cursor_.caught_up()) {
      actions_->Advance([&](const IssueActions::Act& act) {
        return selection_->SendAction(act, cursor_.positions(), now);
      });
    }
    queue_->SetRead(selection_->Decided(cursor_.positions()));
    report_->SetPending(queue_->size());
    if (read.code() == absl::StatusCode::kDataLoss) {
      report_->RecordGap(ToStd(read.message()));
      continue;
    }
    if (absl::IsFailedPrecondition(read)) {
      if (const Status followed = FollowReplaced(cursor_.reset()); !followed.ok())
        return Pause(followed, now);
      continue;
    }
    if (!read.ok()) return Pause(read, now);
    caught_up_ = cursor_.caught_up();
    // Deliver due events before reading more of the history.
    if (caught_up_ || queue_->Due(now) != nullptr) return;
  }
}

void NoticeReader::Pause(const Status& error, int64_t now_ns) {
  report_->RecordError(ToStd(error.message()));
  retry_ns_ = now_ns + kRetryReadNs;
  caught_up_ = false;
}

Status NoticeReader::FollowReplaced(int32_t partition) {
  ASSIGN_OR_RETURN(const int64_t from, position_->FollowReplaced(partition));
  selection_->Rebase(static_cast<size_t>(partition), from);
  queue_->Rebase(partition, from);
  cursor_.Rebase(partition, from);
  return OkStatus();
}

}  // namespace pitwall::notifier
