#include "services/notifier/capture_coordinator.h"

#include <unistd.h>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/io/topics.h"

namespace pitwall::notifier {
namespace {

constexpr Duration kPoll = Duration::Millis(50);
constexpr int64_t kRetryNs = kNanosPerSecond;
constexpr Duration kWatch = Duration::Seconds(1);
constexpr size_t kBatch = 256;

}  // namespace

CaptureCoordinator::CaptureCoordinator(Clock* clock, Log* log, CaptureCoordinatorOptions options,
                                       self_metrics::Exposition* exposition)
    : clock_(clock),
      log_(log),
      options_(options),
      replies_(clock, log, {std::string(kCapturesTopic), 0},
               {.max_records = kBatch, .max_bytes = 8 << 20}),
      probe_(exposition),
      captures_worker_(clock, "captures"),
      issues_worker_(clock, "capture-issues") {
  captures_worker_.OnStop([this] { replies_.Interrupt(); });
  issues_worker_.OnStop([this] {
    MutexLock lock(&mutex_);
    if (watch_ != nullptr) watch_->Cancel();
  });
  probe_.Add("pitwall_capture_requests_total", "Capture requests appended to the log.", &appended_);
  probe_.Add("pitwall_capture_requests_skipped_total",
             "Rule-requested captures that were skipped: less than a minute after another capture "
             "of the job, or over a limit.",
             &skipped_);
  probe_.Add("pitwall_capture_requests_failed_total",
             "Capture requests that the log did not accept.", &failed_);
}

CaptureCoordinator::~CaptureCoordinator() { Stop(); }

Status CaptureCoordinator::Start(IssueSource* issues) {
  ASSIGN_OR_RETURN(appender_, log_->OpenAppender());
  captures_worker_.Start([this] { FollowCaptures(); });
  if (issues != nullptr) issues_worker_.Start([this, issues] { FollowIssues(issues); });
  return OkStatus();
}

void CaptureCoordinator::Stop() {
  captures_worker_.RequestStop();
  issues_worker_.RequestStop();
  captures_worker_.Stop();
  issues_worker_.Stop();
}

StatusOr<std::string> CaptureCoordinator::RequestCapture(CaptureRequest request) {
  MutexLock lock(&mutex_);
  if (requests_.size() >= options_.max_requests) {
    return ResourceExhausted(Cat("captures: the limit of ", requests_.size(),
                                 " pending requests is reached; retry later"));
  }
  if (request.id.empty()) {
    request.id = StableHashHex(Cat("office\xff", ::getpid(), "\xff", clock_->WallNs(), "\xff",
                                   clock_->MonotonicNs(), "\xff", ++made_));
  }
  requests_.push_back(request);
  return request.id;
}

StatusOr<std::vector<RankCapture>> CaptureCoordinator::Find(const CaptureQuery& query) {
  std::vector<RankCapture> found;
  MutexLock lock(&mutex_);
  for (const auto& [capture, size] : captures_) {
    if (query.Matches(capture)) found.push_back(capture);
  }
  return found;
}

void CaptureCoordinator::AppendRequests() {
  while (true) {
    CaptureRequest request;
    {
      MutexLock lock(&mutex_);
      if (requests_.empty()) return;
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    if (request.expires.ns() <= clock_->WallNs())
      continue;  // the request expired while the log was unavailable
    const Status appended =
        appender_->Append({{.topic = std::string(kControlTopic),
                            .key = request.job,
                            .value = cloudevents::EncodeCaptureRequest(request)}});
    if (appended.ok()) {
      appended_.Add();
      continue;
    }
    failed_.Add();
    PITWALL_LOG(kWarning, "capture", "job ", Quote(request.job),
                ": failed to append the capture request to ", kControlTopic, ": ",
                ToStd(appended.message()));
  }
}

Status CaptureCoordinator::ReadCaptures() {
  FollowedRecords read;
  const Status polled = replies_.Poll(kPoll, &read);
  Take(read);
  return polled;
}

void CaptureCoordinator::Take(const FollowedRecords& read) {
  if (!read.replaced.ok()) {
    PITWALL_LOG(kWarning, "capture", ToStd(read.replaced.message()));
    MutexLock lock(&mutex_);
    captures_.clear();
    bytes_ = 0;
  }
  for (const Record& record : read.records) {
    StatusOr<RankCapture> capture = cloudevents::DecodeRankCapture(record.value);
    if (!capture.ok()) {
      PITWALL_LOG(kWarning, "capture", kCapturesTopic, " offset ", record.offset, ": ",
                  ToStd(capture.status().message()));
      continue;
    }
    MutexLock lock(&mutex_);
    bytes_ += record.value.size();
    captures_.emplace_back(*std::move(capture), record.value.size());
    while (captures_.size() > options_.max_captures || bytes_ > options_.max_bytes) {
      bytes_ -= captures_.front().second;
      captures_.pop_front();
    }
  }
}

void CaptureCoordinator::FollowCaptures() {
  while (!captures_worker_.stopping()) {
    AppendRequests();
    const Status status = ReadCaptures();
    if (status.ok()) continue;
    if (!absl::IsNotFound(status))
      PITWALL_LOG(kWarning, "capture", kCapturesTopic, ": ", ToStd(status.message()));
    captures_worker_.Wait(kRetryNs);
  }
  AppendRequests();
}

void CaptureCoordinator::OnEvent(const IssueEvent& event) {
  if (event.type != EventType::kIssueFound || event.capture.empty()) return;
  const int64_t now = clock_->MonotonicNs();
  {
    MutexLock lock(&mutex_);
    const auto last = requested_at_.find(event.job);
    if (last != requested_at_.end() && now - last->second < options_.every_ns) {
      skipped_.Add();
      return;
    }
    std::erase_if(requested_at_,
                  [&](const auto& job) { return now - job.second >= options_.every_ns; });
    if (requested_at_.size() >= options_.max_jobs) {
      skipped_.Add();
      return;
    }
    requested_at_[event.job] = now;
  }
  CaptureRequest request;
  // Two notifiers derive the same request ID from an event, so the second request has no effect.
  request.id = StableHashHex(Cat("issue\xff", event.id));
  request.job = event.job;
  request.issue = IssueId(event);
  request.principal = Cat("rule ", event.rule);
  request.expires = EventTime::FromNs(clock_->WallNs() + options_.expires_ns);
  if (!RequestCapture(std::move(request)).ok()) skipped_.Add();
}

void CaptureCoordinator::FollowIssues(IssueSource* issues) {
  while (!issues_worker_.stopping()) {
    StatusOr<std::unique_ptr<IssueWatch>> watch = issues->WatchIssues({});
    if (!watch.ok()) {
      if (!absl::IsUnavailable(watch.status()))
        PITWALL_LOG(kWarning, "capture", "issues: ", ToStd(watch.status().message()));
      issues_worker_.Wait(kRetryNs);
      continue;
    }
    {
      MutexLock lock(&mutex_);
      watch_ = watch->get();
    }
    Status status;
    while (!issues_worker_.stopping() && status.ok()) {
      const StatusOr<WatchBatch> batch = (*watch)->Next(kBatch, kWatch);
      status = batch.status();
      if (!batch.ok()) break;
      for (const IssueEventPtr& event : batch->events) OnEvent(*event);
    }
    MutexLock lock(&mutex_);
    watch_ = nullptr;
    if (!status.ok() && !issues_worker_.stopping())
      PITWALL_LOG(kWarning, "capture", "issues: ", ToStd(status.message()),
                  "; continuing with new issues");
  }
}

}  // namespace pitwall::notifier
