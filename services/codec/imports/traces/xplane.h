// Reader of stored profiles of TensorFlow, JAX, and XLA (`HOST.xplane.pb`, an XSpace of the public
// schema xplane.proto): lines of events on planes, one plane per device and one for the host.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "services/base/status.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

// Texts are valid only during the call.
struct ProfileEvent {
  std::string_view plane;  // "/host:CPU", "/device:GPU:0"
  std::string_view line;   // of a device "Stream #7(…)", "XLA Ops", …; of the host a thread
  std::string_view name;
  int64_t start_ns = 0;  // Unix
  int64_t end_ns = 0;
  std::optional<int64_t> step;  // of an event that marks one: its step_num
  bool hlo = false;             // an operator of XLA
};

// Passes all events of a file to `take`. Skips and counts those that are invalid or for which
// `take` returns InvalidArgument, and the last plane of a file that is cut short. InvalidArgument:
// not an XSpace, or cut before its start time, with `name` and the byte; and other errors of
// `take`.
Status ReadXSpace(std::string_view name, std::string_view bytes, lenient::SkippedRecords* skipped,
                  const std::function<Status(const ProfileEvent&)>& take);

}  // namespace pitwall::imports
