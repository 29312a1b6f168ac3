// Stored topic position of a receiver, with log marks
// (docs/decisions/0022-store-a-log-mark-with-each-position.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/notifier/delivery/read_marks.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/feed/recent_events.h"

namespace pitwall::notifier {

// Position where a receiver starts.
struct StartPosition {
  Positions positions;  // an earlier process sent the events before these positions
  // Per partition: 1 if no position was stored, so nothing was sent.
  std::vector<uint8_t> is_new;
};

// State of a receiver in the log. Every transition is one function of StoredPosition:
//
//   (start) ----- Open ----------------------> kEnabled or kDisabled, as it was stored
//   any --------- Disable -------------------> kDisabling
//   kDisabling -- StoreDisabledMark, Store* -> kDisabled, once the log contains every mark
//
// A receiver with another URL or generation has another disabled mark, so it starts enabled.
enum class ReceiverState {
  kEnabled,
  kDisabling,  // the receiver is gone, but its mark is not in the log yet
  kDisabled,   // the log contains the disabled mark
};

// Position for one receiver. All pointers are borrowed. Used by a single thread.
class StoredPosition {
 public:
  // Minimum interval between position stores.
  static constexpr int64_t kStoreIntervalNs = kNanosPerSecond;

  // `disabled_mark` is the position metadata for a receiver that is gone.
  StoredPosition(Clock* clock, Log* log, std::string topic, std::string group,
                 std::string disabled_mark, ReceiverReport* report);

  // Loads the stored position and returns it. If no position is stored, stores `begin` as the first
  // position. If the log was replaced, the position is the first new record.
  StatusOr<StartPosition> Open(const Positions& begin);
  const std::string& topic() const { return topic_; }

  // Remembers the mark of a record that was read.
  void AddMark(const FeedItem& item);
  // Switches to the replacement log. Returns the offset to start reading from.
  StatusOr<int64_t> FollowReplaced(int32_t partition);

  // Requests that the position be stored once no notice is due.
  void RequestStore() { store_requested_ = true; }
  // Stores `delivered` if it differs from the stored position, and either the interval has passed
  // or `idle` is true and a store was requested.
  void StoreIfDue(const Positions& delivered, int64_t now_ns, bool idle);
  // Stores `delivered` if it differs from the stored position.
  void StoreIfChanged(const Positions& delivered);
  // Returns the monotonic time of the next store, or INT64_MAX if `delivered` is already stored.
  int64_t NextStoreNs(const Positions& delivered) const;

  // Disables a receiver that is gone.
  void Disable();
  // Stores the disabled mark unless the log already contains it. Returns true if the log now
  // contains it.
  bool StoreDisabledMark(const Positions& delivered);

  ReceiverState state() const { return state_; }
  // Returns the state of the mark that belongs to the newest stored position.
  MarkState MarkStateOf(int32_t partition) const {
    return marks_[static_cast<size_t>(partition)].state();
  }

 private:
  // Returns the position to resume from: `committed`, or the first new record if the log was
  // replaced.
  StatusOr<int64_t> OpenAt(int32_t partition, const CommittedOffset& committed);
  // Returns the metadata that is stored with the position.
  std::string MetadataAt(int32_t partition, int64_t position);
  void Store(const Positions& delivered);

  Clock* const clock_;
  Log* const log_;
  const std::string topic_;
  const std::string group_;
  const std::string disabled_mark_;
  ReceiverReport* const report_;
  Positions stored_;
  std::vector<ReadMarks> marks_;  // by partition
  int64_t stored_at_ns_ = 0;
  bool store_requested_ = false;  // items were delivered after the positions were last stored
  ReceiverState state_ = ReceiverState::kEnabled;
};

}  // namespace pitwall::notifier
