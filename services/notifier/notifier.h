// Carries issues from pitwall.issues to people and machines.
//
// One thread per partition follows the topic and feeds an index of issues (list, get, metrics) and
// a window of recent events in memory (watchers, receivers). Whoever is further behind than that
// window reads the log by itself: the log is the only queue. At-least-once everywhere; every event
// keeps its id.
//  * Watchers (gRPC serves them): see services/io/issue_source.h. Tokens hold offsets and
//  survive restarts.
//  * Receivers: one thread for each (receiver_worker.h); its position is in the log under group
//    "pitwall-webhook-<name>" or "pitwall-receiver-<name>", stored after delivery, so a restart
//    sends again what was not acknowledged. Symptoms wait while their root cause is open
//    (inhibition.h). Issues on which the executor acted are sent always (issue_actions.h).
// All waits go through the clock. Thread-safe.
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
#include "services/notifier/policies/delivery_options.h"
#include "services/self_metrics/exposition.h"

namespace pitwall::notifier {

struct NotifierOptions {
  std::string topic = "pitwall.issues";
  std::string actions_topic = "pitwall.actions";    // need not be there
  std::string silences_topic = "pitwall.silences";  // made where it is not there
  std::string group = "pitwall-notifier";
  // At start the index is built from the last so many offsets of each partition.
  int64_t history_records = 200'000;
  // Recent events kept in memory for watchers and receivers, all partitions together.
  size_t window_events = 16'384;
  size_t window_bytes = size_t{64} << 20;
  size_t max_open_issues = 20'000;
  size_t max_ended_issues = 5'000;
  int64_t ended_age_ns =
      int64_t{24} * 3600 * kNanosPerSecond;  // event time, against the newest seen
  // An open issue that nobody repeated for so long of event time is forgotten (and counted).
  int64_t open_age_ns = int64_t{7} * 24 * 3600 * kNanosPerSecond;
  size_t max_events_per_issue = 64;
  // Beyond so many remembered events an issue keeps its first and its last only.
  size_t max_issue_events = 50'000;
  size_t max_acts = 10'000;  // records of the executor remembered
  size_t max_watchers = 64;
  size_t max_issue_samples = 1'000;  // on /metrics/issues
  std::vector<ReceiverOptions> receivers;
};

class Notifier : public IssueSource {
 public:
  // All are borrowed and must outlive the notifier. The topic must be there.
  static StatusOr<std::unique_ptr<Notifier>> Make(Clock* clock, Log* log, Transports transports,
                                                  NotifierOptions options);
  ~Notifier() override = default;  // stops

  // Receivers without a stored position begin at the records appended after this call.
  virtual Status Start() = 0;
  // Ends all threads; watchers get Unavailable. Idempotent.
  virtual void Stop() = 0;
  // True once the history that stood in the topic at start has been read.
  virtual bool Ready() const = 0;
  // OK while every thread runs as it should; otherwise what is wrong, for /healthz.
  virtual Status Health() const = 0;

  // pitwall_issues_open{rule,severity} and the notifier's own counters. The registrations end with
  // the notifier.
  virtual void RegisterMetrics(self_metrics::Exposition* exposition) = 0;
  // The text of /metrics/issues: pitwall_issue{pitwall_job,rule,severity,…} 1 per open issue,
  // bounded.
  virtual std::string RenderIssueMetrics() const = 0;

  // The silences of all receivers. Lives as long as the notifier.
  virtual SilenceTable* Silences() = 0;
  virtual std::vector<ReceiverStatus> Receivers() const = 0;
};

}  // namespace pitwall::notifier
