// The delivery to one receiver: a thread that follows the topic, decides what the receiver is told,
// and sends it until it is taken. What a call looks like is the receiver's (receivers/receiver.h).
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

// The ways out. Both borrowed; null: no receiver needs it.
struct Transports {
  HttpTransport* http = nullptr;
  MailTransport* mail = nullptr;
};

// Open and Start, then Stop, from one thread; the rest from any.
class ReceiverWorker {
 public:
  // All borrowed. At a start so many records before the position are read again, to know which
  // issues are open and what was withheld; `max_issues` bounds these.
  ReceiverWorker(Clock* clock, Log* log, RecentEvents* window, Transports transports,
                 SilenceTable* silences, IssueActions* acted, const IssueIndex* index,
                 std::string topic, int64_t history_records, size_t max_issues,
                 ReceiverOptions options);
  ~ReceiverWorker();

  // Finds the position, or stores `begin` as the first one.
  Status Open(const Positions& begin);
  void Start();
  void Stop();

  ReceiverStatus status() const;
  // FailedPrecondition for a while after the log was found to be another one.
  Status Health() const;
  std::vector<self_metrics::Registration> RegisterMetrics(self_metrics::Exposition* exposition);

 private:
  static constexpr int64_t kStoreIntervalNs = kNanosPerSecond;  // between two of one position

  void Loop();
  void Fill();
  void Take(std::vector<FeedItem> items, int64_t now_ns);
  void Settle(int64_t now_ns);
  // What was sent before this start has been fed again.
  void EndReplay(size_t partition);
  void Enqueue(std::vector<FeedItem> items, int64_t now_ns);
  void Attempt(DeliveryQueue::Entry* entry);
  void OnVerdict(DeliveryQueue::Entry* entry, const Verdict& verdict, int64_t retry_after_ns,
                 int64_t now_ns);
  // Nothing: the call was cut by Stop.
  std::optional<Answer> Perform(Call call);
  bool DeadLetter(const DeliveryQueue::Entry& entry, std::string_view reason);
  // Leaves behind that the receiver was told, or could not be; `error`: "" when it took the item.
  void NoteTold(const FeedItem& item, std::string_view error);
  void FlushTold(int64_t now_ns);
  // The position to go on at: `committed`, or where what is new begins in a log that was replaced.
  StatusOr<int64_t> OpenAt(int32_t partition, const CommittedOffset& committed);
  // Sends what became due without a further event. Returns when the next will (Unix ns).
  int64_t TellDue(int64_t now_ns);
  Status OpenActs();
  // Goes on in the log that replaced the one that was followed; what was read is still delivered.
  Status FollowReplaced(int32_t partition);
  void NoteReset(std::string text);
  void NoteMark(const FeedItem& item);
  // The newest mark below the position.
  LogFingerprint MarkBelow(size_t partition, int64_t position);
  // Sends what the executor decided and did since, and before it what filters and inhibition kept
  // back of the issues on which it acted.
  void TellActed(int64_t now_ns);
  // What is sent of the act itself, as of `offset`; nothing: the receiver does not hear of it.
  std::optional<FeedItem> ItemOf(const ActionEvent& action, std::vector<IssueEventPtr> events,
                                 int32_t partition, int64_t offset) const;
  void StorePositions();
  void StoreActs();
  void Note(std::string_view error);
  // Logs what somebody has to correct, once until it is another.
  void Complain(std::string_view error, std::string_view consequence);
  bool Wanted(const IssueEvent& event) const;
  bool Passes(const IssueEvent& event);  // Wanted, or of an issue on which the executor acted
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
  const std::string title_;  // "webhook pager", for people
  const std::string group_;
  const std::unique_ptr<Wakeup> wakeup_;
  std::atomic<bool> stop_{false};
  std::thread thread_;

  // The thread's own:
  std::unique_ptr<TopicCursor> cursor_;
  std::unique_ptr<DeliveryQueue> queue_;
  std::unique_ptr<NotificationPolicy> policy_;
  Positions begin_;                 // what lies before it was sent by an earlier process
  std::vector<uint8_t> new_;        // by partition: no position was stored, so nothing was sent
  std::vector<uint8_t> replaying_;  // by partition: policy_ is still fed with that
  Positions acts_;         // of pitwall.actions: acts before it were told, or are in the queue
  Positions acts_stored_;  // no later than what was delivered
  int64_t acts_retry_ns_ = 0;
  // Events that were sent though nobody wanted them: each once.
  std::set<std::string, std::less<>> told_;
  std::deque<std::string> told_order_;
  std::unique_ptr<Appender> dead_letters_;
  NotificationWriter notification_writer_;
  int64_t notification_retry_ns_ = 0;  // after the log did not take some
  Positions stored_;
  std::vector<std::deque<LogFingerprint>> marks_;  // by partition: of what was read and not stored
  int64_t stored_at_ns_ = 0;
  bool caught_up_ = false;
  bool delivery_to_store_ = false;  // since positions were stored last
  std::string complained_;          // of what was last complained
  bool mark_stored_ = false;        // the log knows that the receiver is off
  int64_t retry_read_ns_ = 0;       // after a failed read of the log

  // For others to see:
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
