// Topic reader for one receiver. Fills the queue until it is full or no records are left.
#pragma once

#include <atomic>
#include <cstdint>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/notifier/delivery/action_position.h"
#include "services/notifier/delivery/delivery_queue.h"
#include "services/notifier/delivery/notice_selection.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/delivery/stored_position.h"
#include "services/notifier/feed/topic_cursor.h"

namespace pitwall::notifier {

// All pointers are borrowed. Used by a single thread.
class NoticeReader {
 public:
  // Setting `stop` makes Fill return.
  NoticeReader(Clock* clock, TopicCursor cursor, DeliveryQueue* queue, NoticeSelection* selection,
               StoredPosition* position, ActionPosition* actions, const std::atomic<bool>* stop,
               ReceiverReport* report);

  // Reads until the queue is full, a notice is due, or no records are left.
  void Fill();
  // Returns true if the last call to Fill read all available records.
  bool caught_up() const { return caught_up_; }
  // Returns the monotonic time when Fill can read more, or INT64_MAX if the queue is full or no
  // records are left.
  int64_t NextReadNs() const { return queue_->room() > 0 && !caught_up_ ? retry_ns_ : INT64_MAX; }

 private:
  // Switches to the replacement log. Events that have already been read are still delivered.
  Status FollowReplaced(int32_t partition);
  // Waits before the next read after an error.
  void Pause(const Status& error, int64_t now_ns);

  Clock* const clock_;
  TopicCursor cursor_;
  DeliveryQueue* const queue_;
  NoticeSelection* const selection_;
  StoredPosition* const position_;
  ActionPosition* const actions_;
  const std::atomic<bool>* const stop_;
  ReceiverReport* const report_;
  bool caught_up_ = false;
  int64_t retry_ns_ = 0;  // time of the next attempt after a failed log read
};

}  // namespace pitwall::notifier
