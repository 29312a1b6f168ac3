// Delivery to one receiver: a thread that follows the topic, selects notices, and sends each notice
// until the receiver accepts it. The receiver defines the format of a call (receivers/receiver.h).
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"
#include "services/io/log_reset_notice.h"
#include "services/notifier/delivery/delivery_queue.h"
#include "services/notifier/feed/issue_actions.h"
#include "services/notifier/feed/issue_index.h"
#include "services/notifier/feed/notification_writer.h"
#include "services/notifier/feed/recent_events.h"
#include "services/notifier/feed/topic_cursor.h"
#include "services/notifier/policies/delivery_options.h"
#include "services/notifier/policies/notification_policy.h"
#include "services/notifier/policies/silence_table.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

// Borrowed transports for calls. A transport is null if no receiver uses it.
struct Transports {
  HttpTransport* http = nullptr;
  MailTransport* mail = nullptr;
};

// Open, Start, and Stop must be called from one thread in this order. All other functions may be
// called from any thread.
class ReceiverWorker {
 public:
  // All pointers are borrowed. At startup, the worker rereads up to `history_records` records
  // before the stored position to rebuild the open issues and the withheld events, for at most
  // `max_issues` issues.
  ReceiverWorker(Clock* clock, Log* log, RecentEvents* window, Transports transports,
                 SilenceTable* silences, IssueActions* acted, const IssueIndex* index,
                 std::string topic, int64_t history_records, size_t max_issues,
                 ReceiverOptions options);
  ~ReceiverWorker();

  // Loads the stored position. If no position is stored, stores `begin` as the first position.
  Status Open(const Positions& begin);
  void Start();
  void Stop();

  ReceiverStatus status() const;
  // Returns FailedPrecondition for some time after the worker detects that the log was replaced.
  Status Health() const;
  std::vector<self_metrics::Registration> RegisterMetrics(self_metrics::Exposition* exposition);

 private:
  static constexpr int64_t kStoreIntervalNs =
      kNanosPerSecond;  // minimum interval between position stores

  void Loop();
  void Fill();
  void Take(std::vector<FeedItem> items, int64_t now_ns);
  void Settle(int64_t now_ns);
  // Ends the replay of events that were sent before this start.
  void EndReplay(size_t partition);
  void Enqueue(std::vector<FeedItem> items, int64_t now_ns);
  void Attempt(DeliveryQueue::Entry* entry);
  void OnVerdict(DeliveryQueue::Entry* entry, const Verdict& verdict, int64_t retry_after_ns,
                 int64_t now_ns);
  // Returns the reply, or nullopt if Stop canceled the call.
  std::optional<Answer> Perform(Call call);
  bool DeadLetter(const DeliveryQueue::Entry& entry, std::string_view reason);
  // Records whether the receiver accepted the item. `error` is "" if it did.
  void NoteOutcome(const FeedItem& item, std::string_view error);
  void FlushNotifications(int64_t now_ns);
  // Returns the position to resume from: `committed`, or the first new record if the log was
  // replaced.
  StatusOr<int64_t> OpenAt(int32_t partition, const CommittedOffset& committed);
  // Sends notices that are due because of the time, without a new event. Returns the next due time
  // (Unix ns).
  int64_t SendDue(int64_t now_ns);
  Status OpenActs();
  // Switches to the log that replaced the current log. Events that have already been read are still
  // delivered.
  Status FollowReplaced(int32_t partition);
  void NoteReset(std::string text);
  void NoteMark(const FeedItem& item);
  // Returns the newest mark before `position`.
  LogFingerprint MarkBelow(size_t partition, int64_t position);
  // Sends new executor actions. Before each action, sends the events of its issue that filters and
  // inhibition withheld.
  void SendActs(int64_t now_ns);
  // Returns the item for the executor action itself at `offset`, or nullopt if the receiver does
  // not get this action.
  std::optional<FeedItem> ItemOf(const ActionEvent& action, std::vector<IssueEventPtr> events,
                                 int32_t partition, int64_t offset) const;
  void StorePositions();
  void StoreActs();
  void Note(std::string_view error);
  // Logs an error that an operator must resolve. Repetitions of the same error are not logged.
  void LogOnce(std::string_view error, std::string_view consequence);
  bool Wanted(const IssueEvent& event) const;
  bool Passes(const IssueEvent& event);  // true if wanted, or if the executor acted on the issue
  std::string DisabledMark() const;

  Clock* const clock_;
  Log* const log_;
  RecentEvents* const window_;
  const Transports transports_;
  IssueActions* const acted_;
  SilenceTable* const silences_;
  const IssueIndex* const index_;
  const std::string topic_;
  const int64_t history_records_;
  const DeliveryOptions options_;
  const std::shared_ptr<const Receiver> receiver_;
  const std::string title_;  // name for log lines, such as "webhook pager"
  const std::string group_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> stop_{false};
  std::thread thread_;

  // The following members are used only by the worker's thread.
  std::unique_ptr<TopicCursor> cursor_;
  std::unique_ptr<DeliveryQueue> queue_;
  std::unique_ptr<NotificationPolicy> policy_;
  Positions begin_;           // an earlier process sent the events before this position
  std::vector<uint8_t> new_;  // by partition: 1 if no position was stored, so nothing was sent
  std::vector<uint8_t> replaying_;  // by partition: 1 while policy_ receives events before begin_
  Positions acts_;         // position in pitwall.actions; earlier actions were sent or are queued
  Positions acts_stored_;  // at or before the last delivered executor action
  int64_t acts_retry_ns_ = 0;
  // IDs of issues that filters exclude but that were sent because the executor acted on them.
  std::set<std::string, std::less<>> exempted_;
  std::deque<std::string> exempted_order_;
  std::unique_ptr<Appender> dead_letters_;
  NotificationWriter notification_writer_;
  int64_t notification_retry_ns_ = 0;  // time of the next attempt after the log rejected records
  Positions stored_;
  std::vector<std::deque<LogFingerprint>>
      marks_;  // by partition: marks of records that were read, for positions to store
  int64_t stored_at_ns_ = 0;
  bool caught_up_ = false;
  bool delivery_to_store_ =
      false;                   // true if items were delivered after the positions were last stored
  std::string logged_error_;   // last error that LogOnce logged
  bool mark_stored_ = false;   // true if the log contains the mark that the receiver is disabled
  int64_t retry_read_ns_ = 0;  // time of the next attempt after a failed log read

  // The following members are also read by other threads.
  self_metrics::Counter delivered_, failed_, given_up_, lost_, store_failures_, suppressed_,
      resets_, notifications_unrecorded_;
  self_metrics::Histogram seconds_;
  std::atomic<size_t> pending_{0};
  std::atomic<size_t> withheld_{0};
  std::atomic<bool> disabled_{false};
  std::atomic<bool> breaker_open_{false};
  mutable Mutex mutex_;
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
  LogResetNotice notice_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::notifier
