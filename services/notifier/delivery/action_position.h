// Receiver position in pitwall.actions, the topic of executor actions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/feed/issue_actions.h"

namespace pitwall::notifier {

// State of the position in one partition. Every transition is one function of ActionPosition:
//
//   (first start) -- Begin -----> kStored
//   (restart) ------ Resume ----> kStored, or kReplaced if the topic ends before the position
//   any ------------ MoveTo ----> kMoved, if the position changes
//   kMoved --------- Store -----> kStored, if the log accepts it
//
// If the topic is replaced while the worker runs, Advance moves the position to the start.
enum class ActionPositionState {
  kStored,    // the log contains the position
  kReplaced,  // the log contains a position in a former topic; the worker starts at offset 0
  kMoved,     // the position differs from the one in the log
};

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
  int64_t NextStoreNs() const { return moved() ? retry_ns_ : INT64_MAX; }
  ActionPositionState StateOf(int32_t partition) const {
    return states_[static_cast<size_t>(partition)];
  }

 private:
  // Starts at `offset` and stores it.
  Status Begin(size_t partition, int64_t offset);
  // Continues at the stored offset, or at the start of the topic if it was replaced.
  void Resume(size_t partition, int64_t offset);
  void MoveTo(size_t partition, int64_t offset);
  // Stores the positions that have moved.
  void Store();
  bool moved() const;
  TopicPartition At(size_t partition) const {
    return {acted_->topic(), static_cast<int32_t>(partition)};
  }

  Clock* const clock_;
  Log* const log_;
  const IssueActions* const acted_;
  const std::string group_;
  ReceiverReport* const report_;
  Positions next_;                           // earlier actions were sent or are queued
  std::vector<ActionPositionState> states_;  // by partition, like next_
  int64_t retry_ns_ = 0;
};

}  // namespace pitwall::notifier
