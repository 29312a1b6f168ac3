// Captures as CloudEvents: io.pitwall.capture.requested on pitwall.control, and
// io.pitwall.capture.taken on pitwall.captures. Encoding and decoding follow the rules in
// cloud_event.h.
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"
#include "services/model/issues/capture.h"

namespace pitwall::cloudevents {

std::string EncodeCaptureRequest(const CaptureRequest& request);
StatusOr<CaptureRequest> DecodeCaptureRequest(std::string_view json);

std::string EncodeRankCapture(const RankCapture& capture);
StatusOr<RankCapture> DecodeRankCapture(std::string_view json);

}  // namespace pitwall::cloudevents
