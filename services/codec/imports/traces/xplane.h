// Reader for profiles stored by TensorFlow, JAX, and XLA (`HOST.xplane.pb`, an XSpace in the public
// schema xplane.proto). Profiles contain lines of events on planes, with one plane per device and
// one for the host.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "services/base/status.h"
#include "services/codec/lenient/skipped_records.h"

namespace pitwall::imports {

// Strings are valid only during the call.
struct ProfileEvent {
  std::string_view plane;  // such as "/host:CPU" or "/device:GPU:0"
  std::string_view line;   // "Stream #7(…)", "XLA Ops", … on a device; a thread on the host
  std::string_view name;
  int64_t start_ns = 0;  // Unix time
  int64_t end_ns = 0;
  std::optional<int64_t> step;  // step_num of an event that marks a step
  bool hlo = false;             // the event is an XLA operator
};

// Passes all events of a file to `take`. Skips and counts events that are invalid or rejected by
// `take` with InvalidArgument, and the last plane of a truncated file. Returns InvalidArgument,
// with `name` and the byte offset, if the file is not an XSpace or was truncated before its start
// time. Returns other errors from `take`.
Status ReadXSpace(std::string_view name, std::string_view bytes, lenient::SkippedRecords* skipped,
                  const std::function<Status(const ProfileEvent&)>& take);

}  // namespace pitwall::imports
