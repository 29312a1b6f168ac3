#include "services/notifier/delivery/receiver_caller.h"

#include <string>
#include <utility>
#include <variant>

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/retry_after.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kMaxAnswerText = 512;
constexpr int kSmtpDenied = 535;

// Returns the reply, or nullopt if `cancel` canceled the call.
std::optional<Answer> Perform(const Transports& transports, const std::atomic<bool>* cancel,
                              Call call) {
  Answer answer;
  const auto fail = [&](const Status& status) -> std::optional<Answer> {
    if (*cancel) return std::nullopt;  // the call was canceled, so the receiver did not fail
    answer.text = std::string(ToStd(status.message()));
    return answer;
  };
  if (auto* const http = std::get_if<HttpCall>(&call)) {
    http->cancel = cancel;
    http->status_suffices = true;
    const StatusOr<HttpReply> reply = transports.http->Perform(*http);
    if (!reply.ok()) return fail(reply.status());
    answer.code = reply->status;
    answer.retry_after = std::string(reply->Header("retry-after"));
    answer.text = reply->body.substr(0, kMaxAnswerText);
    answer.location = std::string(reply->Header("location"));
    return answer;
  }
  MailCall& mail = std::get<MailCall>(call);
  mail.cancel = cancel;
  const StatusOr<MailReply> reply = transports.mail->Send(mail);
  if (!reply.ok()) {
    if (absl::IsUnauthenticated(reply.status())) answer.code = kSmtpDenied;
    return fail(reply.status());
  }
  answer.code = reply->code;
  answer.text = reply->text.substr(0, kMaxAnswerText);
  answer.refused = reply->refused;
  return answer;
}

}  // namespace

ReceiverCaller::ReceiverCaller(Clock* clock, Transports transports, const IssueActions* acted,
                               const ReceiverOptions& options, const std::atomic<bool>* cancel,
                               ReceiverReport* report)
    : clock_(clock),
      transports_(transports),
      acted_(acted),
      receiver_(options.receiver),
      sends_actions_(options.delivery.actions != ActionFilter::kNone),
      cancel_(cancel),
      report_(report) {}

std::optional<ReceiverCaller::Result> ReceiverCaller::Send(
    const FeedItem& item, const std::vector<IssueEventPtr>& states) {
  Delivery delivery;
  delivery.event = item.event.get();
  delivery.notice = item.notice.get();
  delivery.action = item.action.get();
  delivery.acted = [this](std::string_view issue) {
    return sends_actions_ ? acted_->Text(issue) : "";
  };
  delivery.wall_ns = clock_->WallNs();
  if (!states.empty()) delivery.states = &states;
  StatusOr<Call> call = receiver_->Render(delivery);
  if (!call.ok()) {
    const std::string error(ToStd(call.status().message()));
    return Result{{Verdict::Kind::kRejected, error}, 0, clock_->MonotonicNs()};
  }
  const int64_t began = clock_->MonotonicNs();
  const std::optional<Answer> answer = Perform(transports_, cancel_, *std::move(call));
  const int64_t now = clock_->MonotonicNs();
  if (!answer.has_value()) return std::nullopt;
  report_->RecordAttempt(now - began);
  return Result{receiver_->Classify(*answer),
                ParseRetryAfter(answer->retry_after, EventTime::FromNs(clock_->WallNs())).ns(),
                now};
}

}  // namespace pitwall::notifier
