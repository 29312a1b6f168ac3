// Delivery records as CloudEvents on pitwall.told: io.pitwall.notice.told and
// io.pitwall.notice.failed. Encoding and decoding as in cloud_event.h.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/issues/told.h"

namespace pitwall::cloudevents {

std::string EncodeToldNotice(const ToldNotice& told);
StatusOr<ToldNotice> DecodeToldNotice(std::string_view json);

}  // namespace pitwall::cloudevents
