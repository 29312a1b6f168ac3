// Coordinator for capture requests from users and rules, and for the collectors' replies.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/system/worker.h"
#include "services/io/capture_source.h"
#include "services/io/io.h"
#include "services/io/issue_source.h"
#include "services/io/topic_follower.h"
#include "services/self_metrics/exposition.h"
#include "services/self_metrics/instruments.h"
#include "services/self_metrics/probe.h"

namespace pitwall::notifier {

struct CaptureCoordinatorOptions {
  size_t max_captures = 4096;           // at the limit, the oldest captures are dropped
  size_t max_bytes = size_t{64} << 20;  // total size of the text of all captures
  size_t max_requests = 64;             // maximum number of requests that wait for the log
  int64_t every_ns =
      60 * kNanosPerSecond;  // minimum interval between rule-requested captures of one job
  int64_t expires_ns = 30 * kNanosPerSecond;  // lifetime of a request from a rule
  size_t max_jobs = 10'000;  // maximum number of jobs whose last capture time is kept
};

// One thread follows pitwall.captures and appends requests. Another thread follows the issues. The
// first event of an issue requests a capture if it has the field `capture`, which is set by the
// rule's annotation. Each event requests at most one capture. Events from before startup do not
// request captures, because a capture would show a later state. Thread-safe. The clock, log,
// issues, and exposition, which may be null, are borrowed.
class CaptureCoordinator final : public CaptureSource {
 public:
  CaptureCoordinator(Clock* clock, Log* log, CaptureCoordinatorOptions options = {},
                     self_metrics::Exposition* exposition = nullptr);
  ~CaptureCoordinator() override;

  // If `issues` is null, rules do not request captures.
  Status Start(IssueSource* issues);
  void Stop();  // idempotent

  StatusOr<std::string> RequestCapture(CaptureRequest request) override;
  StatusOr<std::vector<RankCapture>> Find(const CaptureQuery& query) override;

  // Appends the capture request for an issue event. Called by the issue thread and by tests.
  void OnEvent(const IssueEvent& event);

 private:
  void FollowCaptures();
  // Reads the collectors' replies. NotFound: the topic does not exist yet.
  Status ReadCaptures();
  void Take(const FollowedRecords& read);
  void AppendRequests();
  void FollowIssues(IssueSource* issues);

  Clock* const clock_;
  Log* const log_;
  const CaptureCoordinatorOptions options_;
  std::unique_ptr<Appender> appender_;
  TopicFollower replies_;
  self_metrics::SharedCounter appended_, skipped_, failed_;
  self_metrics::Probe probe_;

  Mutex mutex_;
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<CaptureRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<RankCapture, size_t>> captures_
      ABSL_GUARDED_BY(mutex_);  // captures, each with its size in bytes
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t, std::less<>> requested_at_
      ABSL_GUARDED_BY(mutex_);  // time of the last rule request, by job
  IssueWatch* watch_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Worker captures_worker_, issues_worker_;
};

}  // namespace pitwall::notifier
