// Shared helpers for notifier tests: events, a log that the test fills, and a scripted transport.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/model/issues/issue.h"
#include "services/notifier/receivers/delivery_options.h"
#include "services/notifier/receivers/webhook.h"

namespace pitwall::notifier {

inline IssueEvent MakeEvent(std::string_view job, std::string_view rule, uint64_t sequence,
                            EventType type = EventType::kIssueFound,
                            std::string_view severity = "warning", int64_t began_s = 1000) {
  IssueEvent e;
  e.type = type;
  e.job = job;
  e.rule = rule;
  e.alert = "A";
  e.labels = Labels{{"alertname", "A"}, {"severity", severity}, {"node", "n1"}};
  e.severity = severity;
  e.active_since = EventTime::FromNs(began_s * kNanosPerSecond);
  e.started_at = e.active_since;
  e.time = e.active_since + Duration::Seconds(static_cast<int64_t>(sequence));
  e.last_seen_at = e.time;
  e.sequence = sequence;
  if (type == EventType::kIssueResolved) {
    e.ended_at = e.time;
    e.end_reason = EndReason::kCleared;
  }
  if (type == EventType::kRuleStatus) e.status = RuleStatus::kNoData;
  e.id = MakeEventId(e);
  return e;
}

inline OutgoingRecord ToRecord(const IssueEvent& event, int32_t partition) {
  OutgoingRecord record;
  record.topic = "pitwall.issues";
  record.partition = partition;
  record.key = event.job;
  record.value = cloudevents::EncodeCloudEvent(event);
  return record;
}

inline void Publish(Log* log, const IssueEvent& event, int32_t partition = 0) {
  const auto appender = log->OpenAppender();
  ASSERT_TRUE(appender.ok());
  const Status appended = (*appender)->Append({ToRecord(event, partition)});
  ASSERT_TRUE(appended.ok()) << appended;
}

// Fake transport that replies according to a script and records the calls.
class ScriptedTransport final : public HttpTransport {
 public:
  using Script = std::function<StatusOr<HttpReply>(const HttpCall&, size_t number)>;
  explicit ScriptedTransport(Script script) : script_(std::move(script)) {}

  StatusOr<HttpReply> Perform(const HttpCall& call) override {
    size_t number = 0;
    Script script;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      number = calls_.size();
      calls_.push_back(call);
      script = script_;
    }
    StatusOr<HttpReply> reply = script(call, number);
    const std::lock_guard<std::mutex> lock(mutex_);
    ++answered_;
    changed_.notify_all();
    return reply;
  }
  Status CheckUrl(std::string_view url) const override {
    return StartsWith(url, "http") ? OkStatus() : InvalidArgument("not a URL");
  }

  void SetScript(Script script) {
    const std::lock_guard<std::mutex> lock(mutex_);
    script_ = std::move(script);
  }
  void AwaitAnswered(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return answered_ >= count; });
  }
  size_t answered() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return answered_;
  }
  std::vector<HttpCall> calls() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  // Returns the webhook-id headers of the calls, in order.
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const HttpCall& call : calls()) ids.push_back(HeaderOf(call, "webhook-id"));
    return ids;
  }
  static std::string HeaderOf(const HttpCall& call, std::string_view name) {
    for (const auto& [key, value] : call.headers) {
      if (key == name) return value;
    }
    return "";
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Script script_;
  std::vector<HttpCall> calls_;
  size_t answered_ = 0;
};

// Options for delivery to a webhook.
struct WebhookOptions : DeliveryOptions, WebhookTarget {};
inline ReceiverOptions ToReceiver(const WebhookOptions& o) {
  return {.delivery = o, .receiver = std::make_shared<WebhookReceiver>(o)};
}

inline StatusOr<HttpReply> Reply(int status, std::string_view retry_after = "") {
  HttpReply reply;
  reply.status = status;
  if (!retry_after.empty()) reply.headers.emplace_back("retry-after", std::string(retry_after));
  return reply;
}

}  // namespace pitwall::notifier
