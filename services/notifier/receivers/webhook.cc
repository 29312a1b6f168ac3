#include "services/notifier/receivers/webhook.h"

#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/event_link.h"

namespace pitwall::notifier {

StatusOr<Call> WebhookReceiver::Render(const Delivery& delivery) const {
  const IssueEvent& event = *delivery.event;
  HttpCall call;
  call.url = target_.url;
  call.timeout = Duration::Nanos(target_.timeout_ns);
  call.headers = target_.headers;
  call.headers.emplace_back("Content-Type", std::string(cloudevents::kContentType));
  const std::string& id = delivery.action != nullptr   ? delivery.action->action.id
                          : delivery.notice != nullptr ? delivery.notice->id
                                                       : event.id;
  // The event of a notice is the root cause's event.
  call.body =
      cloudevents::WithLink(delivery.action != nullptr   ? EncodeAction(*delivery.action)
                            : delivery.notice != nullptr ? EncodeNotice(*delivery.notice)
                                                         : cloudevents::EncodeCloudEvent(event),
                            target_.external_url, event);
  const int64_t timestamp = delivery.wall_ns / kNanosPerSecond;
  call.headers.emplace_back("webhook-id", id);
  call.headers.emplace_back("webhook-timestamp", Cat(timestamp));
  if (target_.signer != nullptr) {
    call.headers.emplace_back("webhook-signature", target_.signer->Sign(id, timestamp, call.body));
  }
  return call;
}

}  // namespace pitwall::notifier
