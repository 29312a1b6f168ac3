// Delivery worker for one receiver. Its thread follows the topic, selects notices, and sends each
// notice until the receiver accepts it. The receiver defines the call format
// (receivers/receiver.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/system/worker.h"
#include "services/io/io.h"
#include "services/notifier/delivery/action_position.h"
#include "services/notifier/delivery/delivery_outcomes.h"
#include "services/notifier/delivery/delivery_queue.h"
#include "services/notifier/delivery/notice_reader.h"
#include "services/notifier/delivery/notice_selection.h"
#include "services/notifier/delivery/receiver_caller.h"
#include "services/notifier/delivery/receiver_report.h"
#include "services/notifier/delivery/stored_position.h"
#include "services/notifier/feed/issue_actions.h"
#include "services/notifier/feed/issue_index.h"
#include "services/notifier/feed/recent_events.h"
#include "services/notifier/policies/silence_table.h"
#include "services/notifier/receivers/delivery_options.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

// Borrowed sources shared by all receivers of a notifier.
struct ReceiverSources {
  RecentEvents* window = nullptr;
  SilenceTable* silences = nullptr;
  IssueActions* acted = nullptr;
  const IssueIndex* index = nullptr;

  // Wakes `wakeup` after each change to the events, silences, or actions.
  void Listen(Wakeup* wakeup) const;
  void Unlisten(Wakeup* wakeup) const;
};

// Open, Start, and Stop must be called from one thread in this order. All other functions may be
// called from any thread.
class ReceiverWorker {
 public:
  // All pointers are borrowed, and the exposition may be null. At startup, the worker rereads up to
  // `history_records` records before the stored position to rebuild the sets of open issues and
  // suppressed events, for at most `max_issues` issues.
  ReceiverWorker(Clock* clock, Log* log, const ReceiverSources& sources, Transports transports,
                 std::string topic, int64_t history_records, size_t max_issues,
                 ReceiverOptions options, self_metrics::Exposition* exposition = nullptr);
  ~ReceiverWorker() { Stop(); }

  // Loads the stored position. If no position is stored, stores `begin` as the first position.
  Status Open(const Positions& begin);
  void Start();
  void Stop();

  ReceiverStatus status() const { return report_.status(); }
  // Returns FailedPrecondition for some time after the worker detects that the log was replaced.
  Status Health() const { return report_.Health(clock_->MonotonicNs()); }

 private:
  void Loop();
  // Reads records, sends at most one notice, and stores the positions and notification records that
  // are due. Waits if there is nothing to do.
  void RunOnce();
  // Returns the monotonic time when work is next due, or INT64_MAX. `due_ns` is the Unix time when
  // the policy sends the next notice.
  int64_t NextWorkNs(int64_t now_ns, int64_t due_ns) const;
  // Returns the position from which the worker rereads the events before `begin`.
  StatusOr<Positions> StartOfHistory(const Positions& begin);

  Clock* const clock_;
  Log* const log_;
  const ReceiverSources sources_;
  const int64_t history_records_;
  const size_t max_issues_;
  const ReceiverOptions options_;
  // Declared before the members that use its stop flag. The destructor calls Stop.
  Worker worker_;
  ReceiverReport report_;

  // The following members are used only by the worker's thread.
  StoredPosition position_;
  ActionPosition actions_;
  ReceiverCaller caller_;
  // Open creates the following members.
  std::unique_ptr<DeliveryQueue> queue_;
  std::unique_ptr<NoticeSelection> selection_;
  std::unique_ptr<NoticeReader> reader_;
  std::unique_ptr<DeliveryOutcomes> outcomes_;
};

}  // namespace pitwall::notifier
