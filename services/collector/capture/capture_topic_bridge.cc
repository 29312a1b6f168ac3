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
    : clock_(clock),
      appender_(appender),
      // Reading starts at the beginning of the topic, because requests made before the collector
      // started are still served unless they have expired.
      control_(clock, log, {std::string(kControlTopic), 0},
               {.max_records = 100, .max_bytes = 1 << 20, .open_interval = kPoll}),
      worker_(clock, "capture-bridge") {
  worker_.OnStop([this] { control_.Interrupt(); });
}

CaptureTopicBridge::~CaptureTopicBridge() { Stop(); }

void CaptureTopicBridge::Start(std::function<void(CaptureRequest)> give,
                               std::function<void(const ActionEvent&)> sample) {
  give_ = std::move(give);
  sample_ = std::move(sample);
  worker_.Start([this] { Loop(); });
}

void CaptureTopicBridge::Stop() { worker_.Stop(); }

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
  FollowedRecords read;
  const Status polled = control_.Poll(kPoll, &read);
  if (!read.replaced.ok()) PITWALL_LOG(kWarning, "capture", ToStd(read.replaced.message()));
  for (const Record& record : read.records) Take(record);
  return polled;
}

void CaptureTopicBridge::Take(const Record& record) {
  const int64_t now_ns = clock_->WallNs();
  // Interval changes are the only actions that the collector handles.
  if (const auto action = cloudevents::DecodeActionEvent(record.value); action.ok()) {
    if (sample_ && action->kind == ActionKind::kInterval && action->expires.ns() > now_ns)
      sample_(*action);
    return;
  }
  StatusOr<CaptureRequest> request = cloudevents::DecodeCaptureRequest(record.value);
  if (!request.ok()) {
    PITWALL_LOG(kWarning, "capture", kControlTopic, " offset ", record.offset, ": ",
                ToStd(request.status().message()));
    return;
  }
  if (request->expires.ns() > now_ns) give_(*std::move(request));
}

void CaptureTopicBridge::Loop() {
  while (!worker_.stopping()) {
    const Status read = Read();
    if (!read.ok() && !absl::IsNotFound(read))
      PITWALL_LOG(kWarning, "capture", kControlTopic, ": ", ToStd(read.message()));
    const bool flushed = Flush();
    if (!read.ok() || !flushed) worker_.Wait(flushed ? kPoll.ns() : kRetryNs);
  }
  Flush();
}

}  // namespace pitwall::collector
