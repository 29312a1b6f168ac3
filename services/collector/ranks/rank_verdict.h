// Verdict on the end of a rank, based on its exit status, its goodbye, and the state of its loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/collector/processes/process_watch.h"

namespace pitwall::collector {

// Goodbye as received from a client.
struct Farewell {
  std::string reason;     // completed, failed, or cancelled; "" if the client does not know it
  std::string exception;  // "" if not reported
  bool exiting = false;   // whether the process is ending and its status therefore decides
  std::optional<int32_t> exit_status;  // reported by the client, for kernels that do not provide it
};

struct RankVerdict {
  enum class Kind : uint8_t {
    kOrderly,  // ended by a goodbye, or with status 0 outside of a loop
    kFailed,   // ended with a goodbye, but with a status other than 0
    kDied,     // ended without a goodbye
  };
  Kind kind = Kind::kOrderly;
  std::string reason;     // completed, failed, or cancelled; "" if unknown
  std::string exception;  // set for kFailed
  ProcessEnd end;         // set for kFailed and kDied
};

// Returns the verdict on a rank's end. A goodbye never overrides the exit status. Status 0 is an
// orderly end, except inside an open loop without a goodbye. Any other status is a failure, except
// an interrupt after a cancellation. If there is no status, the goodbye decides. `farewell` is null
// if there was no goodbye. `loop_open` is empty if the client has not run a loop.
RankVerdict JudgeEnd(const Farewell* farewell, const ProcessEnd& end,
                     std::optional<bool> loop_open);

}  // namespace pitwall::collector
