// Delivery to one receiver: a thread that follows the topic, selects the notices, and sends each
// until it is accepted. The receiver defines the form of a call (receivers/receiver.h).
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

// Transports for calls. Both borrowed; null if no receiver uses it.
struct Transports {
  HttpTransport* http = nullptr;
  MailTransport* mail = nullptr;
};

// Open, Start, and Stop are called by one thread in this order; other functions by any thread.
class ReceiverWorker {
 public:
  // All pointers are borrowed. At startup, `history_records` before the position are read again to
  // find the open issues and the withheld events; `max_issues` limits these.
  ReceiverWorker(Clock* clock, Log* log, RecentEvents* window, Transports transports,
                 SilenceTable* silences, IssueActions* acted, const IssueIndex* index,
                 std::string topic, int64_t history_records, size_t max_issues,
                 ReceiverOptions options);
  ~ReceiverWorker();

  // Finds the stored position, or stores `begin` as the first one.
  Status Open(const Positions& begin);
  void Start();
  void Stop();

  ReceiverStatus status() const;
  // FailedPrecondition for some time after the log was found to be replaced.
  Status Health() const;
  std::vector<self_metrics::Registration> RegisterMetrics(self_metrics::Exposition* exposition);

 private:
  static constexpr int64_t kStoreIntervalNs =
      kNanosPerSecond;  // minimum interval between stores of the position

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
  // Returns nothing if Stop canceled the call.
  std::optional<Answer> Perform(Call call);
  bool DeadLetter(const DeliveryQueue::Entry& entry, std::string_view reason);
  // Records that the receiver accepted the item (`error` is "") or that delivery failed.
  void NoteOutcome(const FeedItem& item, std::string_view error);
  void FlushNotifications(int64_t now_ns);
  // Returns the position to continue at: `committed`, or the first new record of a log that was
  // replaced.
  StatusOr<int64_t> OpenAt(int32_t partition, const CommittedOffset& committed);
  // Sends the notices that became due without a further event. Returns the next due time (Unix ns).
  int64_t SendDue(int64_t now_ns);
  Status OpenActs();
  // Continues in the log that replaced the followed one. Events already read are still delivered.
  Status FollowReplaced(int32_t partition);
  void NoteReset(std::string text);
  void NoteMark(const FeedItem& item);
  // Returns the newest mark below the position.
  LogFingerprint MarkBelow(size_t partition, int64_t position);
  // Sends the new acts of the executor, after the events of their issues that filters and
  // inhibition withheld.
  void SendActs(int64_t now_ns);
  // Returns the item for the act itself, as of `offset`, or nothing if the receiver does not get
  // it.
  std::optional<FeedItem> ItemOf(const ActionEvent& action, std::vector<IssueEventPtr> events,
                                 int32_t partition, int64_t offset) const;
  void StorePositions();
  void StoreActs();
  void Note(std::string_view error);
  // Logs an error that an operator must correct, once until it changes.
  void LogOnce(std::string_view error, std::string_view consequence);
  bool Wanted(const IssueEvent& event) const;
  bool Passes(
      const IssueEvent& event);  // wanted, or an event of an issue on which the executor acted
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
  const std::string title_;  // "webhook pager", for log lines
  const std::string group_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> stop_{false};
  std::thread thread_;

  // Used by the worker's thread only:
  std::unique_ptr<TopicCursor> cursor_;
  std::unique_ptr<DeliveryQueue> queue_;
  std::unique_ptr<NotificationPolicy> policy_;
  Positions begin_;                 // events before it were sent by an earlier process
  std::vector<uint8_t> new_;        // by partition: no stored position, so nothing was sent
  std::vector<uint8_t> replaying_;  // by partition: policy_ is still fed with events before begin_
  Positions acts_;                  // in pitwall.actions: acts before it were sent or are queued
  Positions acts_stored_;           // not after the last delivered act
  int64_t acts_retry_ns_ = 0;
  // Unwanted events that were sent because the executor acted on their issue.
  std::set<std::string, std::less<>> exempted_;
  std::deque<std::string> exempted_order_;
  std::unique_ptr<Appender> dead_letters_;
  NotificationWriter notification_writer_;
  int64_t notification_retry_ns_ = 0;  // next attempt after the log rejected some
  Positions stored_;
  std::vector<std::deque<LogFingerprint>> marks_;  // by partition: of records read and not stored
  int64_t stored_at_ns_ = 0;
  bool caught_up_ = false;
  bool delivery_to_store_ = false;  // deliveries since the last store of positions
  std::string logged_error_;        // last error logged by LogOnce
  bool mark_stored_ = false;        // the log has the mark that the receiver is disabled
  int64_t retry_read_ns_ = 0;       // next attempt after a failed read of the log

  // Read by other threads:
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
