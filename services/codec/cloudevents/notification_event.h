// Delivery records as CloudEvents on pitwall.notifications: io.pitwall.notification.delivered and
// io.pitwall.notification.failed. Encoding and decoding follow the rules in cloud_event.h.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/issues/notification.h"

namespace pitwall::cloudevents {

std::string EncodeNotification(const NotificationRecord& record);
StatusOr<NotificationRecord> DecodeNotification(std::string_view json);

}  // namespace pitwall::cloudevents
