// Receiver position in pitwall.actions, the topic of executor actions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/feed/issue_actions.h"

namespace pitwall::notifier {

// Position for one receiver. All pointers are borrowed. Used by a single thread.
class ActionPosition {
 public:
  ActionPosition(Clock* clock, Log* log, const IssueActions* acted, std::string group,
                 ReceiverReport* report);

  // Loads the stored position. If no position is stored, stores the start of the topic if
  // `from_start` is true, or the end otherwise.
  Status Open(bool from_start);
  // Returns true if the action precedes the position (it was sent or is queued).
  bool IsPast(const IssueActions::Act& act) const {
    return act.offset < next_[static_cast<size_t>(act.partition)];
  }
  // Passes new actions to `send` and moves the position past them. Stops at the first action for
  // which `send` returns false.
  void Advance(const std::function<bool(const IssueActions::Act&)>& send);

  // Stores the position if it has changed and the next store is due. All actions before the
  // position must have been delivered.
  void StoreIfDue(int64_t now_ns);
  // Returns the monotonic time of the next store, or INT64_MAX if no store is pending.
  int64_t NextStoreNs() const { return next_ == stored_ ? INT64_MAX : retry_ns_; }

 private:
  void Store();

  Clock* const clock_;
  Log* const log_;
  const IssueActions* const acted_;
  const std::string group_;
  ReceiverReport* const report_;
  Positions next_;    // earlier actions were sent or are queued
  Positions stored_;  // at or before the last delivered executor action
  int64_t retry_ns_ = 0;
};

}  // namespace pitwall::notifier
