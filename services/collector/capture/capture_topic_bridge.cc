#include "services/collector/capture/capture_topic_bridge.h"

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/topics.h"

namespace pitwall::collector {
namespace {

constexpr Duration kPoll = Duration::Millis(100);
constexpr int64_t kRetryNs = kNanosPerSecond;

}  // namespace

CaptureTopicBridge::CaptureTopicBridge(Clock* clock, Log* log, Appender* appender)
    : clock_(clock), log_(log), appender_(appender), wakeup_(clock->NewWakeup()) {}

CaptureTopicBridge::~CaptureTopicBridge() { Stop(); }

void CaptureTopicBridge::Start(std::function<void(CaptureRequest)> give,
                               std::function<void(const ActionEvent&)> sample) {
  give_ = std::move(give);
  sample_ = std::move(sample);
  thread_ = std::thread([this] { Loop(); });
}

void CaptureTopicBridge::Stop() {
  stopping_ = true;
  wakeup_->Wake();
  {
    MutexLock lock(&mutex_);
    if (polled_ != nullptr) polled_->Interrupt();
  }
  if (thread_.joinable()) thread_.join();
}

Status CaptureTopicBridge::RequestCapture(const CaptureRequest& request) {
  const int64_t now = clock_->MonotonicNs();
  {
    MutexLock lock(&mutex_);
    while (!asked_.empty() && now - asked_.front().second >= kAskEveryNs) asked_.pop_front();
    const bool again = std::any_of(asked_.begin(), asked_.end(),
                                   [&](const auto& asked) { return asked.first == request.job; });
    if (again || asked_.size() >= kMaxJobs) {
      return ResourceExhausted(
          Cat("job ", Quote(request.job),
              ": the limit on capture requests per second is reached; retry later"));
    }
    asked_.emplace_back(request.job, now);
  }
  Push({.topic = std::string(kControlTopic),
        .key = request.job,
        .value = cloudevents::EncodeCaptureRequest(request)});
  return OkStatus();
}

void CaptureTopicBridge::Deliver(const RankCapture& capture) {
  Push({.topic = std::string(kCapturesTopic),
        .key = capture.job,
        .value = cloudevents::EncodeRankCapture(capture)});
}

void CaptureTopicBridge::Push(OutgoingRecord record) {
  MutexLock lock(&mutex_);
  bytes_ += record.value.size();
  outbox_.push_back(std::move(record));
  while (outbox_.size() > kMaxRecords || bytes_ > kMaxBytes) {
    bytes_ -= outbox_.front().value.size();
    outbox_.pop_front();
    ++dropped_;
  }
}

bool CaptureTopicBridge::Flush() {
  while (true) {
    OutgoingRecord record;
    {
      MutexLock lock(&mutex_);
      if (outbox_.empty()) return true;
      record = outbox_.front();
    }
    if (const Status status = appender_->Append({record}); !status.ok()) {
      // A permanently rejected record would block the records after it.
      const bool refused = absl::IsInvalidArgument(status);
      PITWALL_LOG(kWarning, "capture", record.topic, ": ", ToStd(status.message()),
                  refused ? "; dropping the record" : "; retrying");
      if (!refused) return false;
      ++dropped_;
    }
    MutexLock lock(&mutex_);
    // Another thread may have dropped the record in the meantime.
    if (outbox_.empty() || outbox_.front().value != record.value) continue;
    bytes_ -= record.value.size();
    outbox_.pop_front();
  }
}

Status CaptureTopicBridge::Read() {
  if (reader_ == nullptr) {
    RETURN_IF_ERROR(log_->Partitions(kControlTopic).status());
    // Reading starts at the beginning of the topic, because requests made before the collector
    // started are still served unless they have expired.
    ASSIGN_OR_RETURN(reader_, log_->OpenReader({std::string(kControlTopic), 0}, kFromStart));
  }
  {
    MutexLock lock(&mutex_);
    polled_ = reader_.get();
  }
  std::vector<Record> records;
  const Status polled = stopping_ ? OkStatus() : reader_->Poll(100, 1 << 20, kPoll, &records);
  {
    MutexLock lock(&mutex_);
    polled_ = nullptr;
  }
  if (!polled.ok() && !absl::IsDataLoss(polled)) return polled;
  for (const Record& record : records) {
    // Interval changes are the only actions that the collector handles.
    if (const auto action = cloudevents::DecodeActionEvent(record.value); action.ok()) {
      if (sample_ && action->kind == ActionKind::kInterval &&
          action->expires.ns() > clock_->WallNs())
        sample_(*action);
      continue;
    }
    StatusOr<CaptureRequest> request = cloudevents::DecodeCaptureRequest(record.value);
    if (!request.ok()) {
      PITWALL_LOG(kWarning, "capture", kControlTopic, " offset ", record.offset, ": ",
                  ToStd(request.status().message()));
      continue;
    }
    if (request->expires.ns() > clock_->WallNs()) give_(*std::move(request));
  }
  return OkStatus();
}

void CaptureTopicBridge::Loop() {
  while (!stopping_) {
    const Status read = Read();
    if (!read.ok() && !absl::IsNotFound(read)) {
      PITWALL_LOG(kWarning, "capture", kControlTopic, ": ", ToStd(read.message()));
      reader_.reset();
    }
    const bool flushed = Flush();
    if (!read.ok() || !flushed) wakeup_->Wait(flushed ? kPoll.ns() : kRetryNs);
  }
  Flush();
}

}  // namespace pitwall::collector
