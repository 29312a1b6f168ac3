// Delivery of issues from pitwall.issues to people and machines.
//
// One thread per partition follows the topic and updates an index of issues (list, get, metrics)
// and an in-memory window of recent events (watchers, receivers). A follower that is behind the
// window reads the log itself, so the log is the only queue. Delivery is at-least-once, and every
// event keeps its ID.
//  * Watchers (served by gRPC): see services/io/issue_source.h. Tokens contain offsets and survive
//    restarts.
//  * Receivers: one thread each (receiver_worker.h). After a delivery, the receiver's position is
//    stored in the log under the group "pitwall-webhook-<name>" or "pitwall-receiver-<name>", so a
//    restart resends unacknowledged events. Symptoms wait while their root cause is open
//    (inhibition.h). Issues on which the executor acted are always sent (issue_actions.h).
// All waits use the clock. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/io/io.h"
#include "services/io/issue_source.h"
#include "services/notifier/delivery/receiver_worker.h"
#include "services/notifier/receivers/delivery_options.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

struct NotifierOptions {
  std::string topic = "pitwall.issues";
  std::string actions_topic = "pitwall.actions";    // the topic may not exist
  std::string silences_topic = "pitwall.silences";  // created if it does not exist
  std::string group = "pitwall-notifier";
  // Number of offsets per partition that are read at startup to rebuild the index.
  int64_t history_records = 200'000;
  // Maximum number of recent events in memory across all partitions, for watchers and receivers.
  size_t window_events = 16'384;
  size_t window_bytes = size_t{64} << 20;
  size_t max_open_issues = 20'000;
  size_t max_ended_issues = 5'000;
  int64_t ended_age_ns =
      int64_t{24} * 3600 *
      kNanosPerSecond;  // maximum age of an ended issue in event time, relative to the newest event
  // An open issue that has had no events for this long (in event time) is dropped and counted.
  int64_t open_age_ns = int64_t{7} * 24 * 3600 * kNanosPerSecond;
  size_t max_events_per_issue = 64;
  // Maximum number of events across all issues. Above this limit, an issue keeps only its first and
  // last events.
  size_t max_issue_events = 50'000;
  size_t max_acts = 10'000;  // maximum number of executor records in memory
  size_t max_watchers = 64;
  size_t max_issue_samples = 1'000;  // maximum number of samples on /metrics/issues
  std::vector<ReceiverOptions> receivers;
};

class Notifier : public IssueSource {
 public:
  // All pointers are borrowed and must outlive the notifier. The topic must exist. The exposition
  // may be null.
  static StatusOr<std::unique_ptr<Notifier>> Make(Clock* clock, Log* log, Transports transports,
                                                  NotifierOptions options,
                                                  self_metrics::Exposition* exposition = nullptr);
  ~Notifier() override = default;  // stops the notifier

  // Receivers without a stored position start with the first record appended after this call.
  virtual Status Start() = 0;
  // Stops all threads. Watchers get Unavailable. Idempotent.
  virtual void Stop() = 0;
  // Returns true once the notifier has read the history that the topic contained at startup.
  virtual bool Ready() const = 0;
  // Returns OK if all threads are running normally, or an error otherwise. Used by /healthz.
  virtual Status Health() const = 0;

  // Returns the text of /metrics/issues: one sample pitwall_issue{pitwall_job,rule,severity,…} 1
  // for each open issue, up to max_issue_samples.
  virtual std::string RenderIssueMetrics() const = 0;

  // Returns the silences that apply to all receivers. Valid until the notifier is destroyed.
  virtual SilenceTable* Silences() = 0;
  virtual std::vector<ReceiverStatus> Receivers() const = 0;
};

}  // namespace pitwall::notifier
