#include "services/executor/targets/webhook_target.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/glob.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/json/json_reader.h"

namespace pitwall::executor {
namespace {
constexpr size_t kMaxReplyBytes = 64 << 10;
constexpr size_t kMaxReason = 300;
}  // namespace

StopTarget::Claim WebhookTarget::Claims(const JobReference& reference) const {
  for (const std::string& platform : options_.platforms) {
    if (platform == "*" && reference.platform == "process") continue;
    if (GlobMatches(platform, reference.platform)) return Claim::kMine;
  }
  return Claim::kNo;
}

StopCheck WebhookTarget::Check(const ActionEvent& stop) {
  if (stop.owner.empty()) {
    return {.refusal =
                "the job's owner is unknown, so the job is not stopped "
                "(docs/security.md)",
            .other_owner = true};
  }
  return {.found = Cat("the webhook is called to stop the job of ", stop.owner)};
}

StatusOr<std::string> WebhookTarget::Stop(const ActionEvent& stop) {
  const std::string body = cloudevents::EncodeCloudEvent(stop);
  ASSIGN_OR_RETURN(const HttpReply reply, caller_.Perform([&]() -> StatusOr<HttpCall> {
    HttpCall call;
    call.url = options_.url;
    call.body = body;
    call.max_response_bytes = kMaxReplyBytes;
    const int64_t timestamp = clock_->WallNs() / kNanosPerSecond;
    call.headers = {{"content-type", "application/cloudevents+json"},
                    {"webhook-id", stop.id},
                    {"webhook-timestamp", Cat(timestamp)}};
    if (options_.signer != nullptr) {
      call.headers.emplace_back("webhook-signature",
                                options_.signer->Sign(stop.id, timestamp, body));
    }
    return call;
  }));
  if (reply.status < 200 || reply.status >= 300) {
    return FailedPrecondition(Cat("the webhook responded with ", reply.status, ": ",
                                  TerminalLine(reply.body.substr(0, kMaxReason))));
  }
  std::string result, reason;
  if (const auto in = codec::JsonReader::Parse(reply.body, kMaxReplyBytes); in.ok()) {
    result = in->String("result");
    reason = TerminalLine(in->String("reason").substr(0, kMaxReason));
    if (!in->status().ok()) result.clear();
  }
  if (result == "refused") {
    return absl::PermissionDeniedError(
        ToAbsl(Cat("the webhook refused", reason.empty() ? "" : Cat(": ", reason))));
  }
  if (result != "done") {
    return FailedPrecondition(Cat("the webhook responded with ", reply.status,
                                  " without {\"result\": \"done\"} or \"refused\""));
  }
  PITWALL_LOG(kWarning, "executor", "the webhook stopped job ", stop.job, ": ", stop.rule);
  MutexLock lock(&mutex_);
  while (done_.size() >= options_.max_remembered) done_.erase(done_.begin());
  done_[stop.id] = reason;
  return std::string("webhook called");
}

StatusOr<StopEffect> WebhookTarget::Effect(const ActionEvent& stop) {
  MutexLock lock(&mutex_);
  const auto it = done_.find(stop.id);
  if (it == done_.end()) return Unavailable("the webhook's reply is no longer available");
  return StopEffect{
      .stopped = true,
      .text = Cat("it replied done", it->second.empty() ? "" : Cat(": ", it->second))};
}

}  // namespace pitwall::executor
