// Verdict on the end of a rank: from its exit status, its goodbye, and the state of its loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/collector/processes/process_watch.h"

namespace pitwall::collector {

// Goodbye of a client, as it was received.
struct Farewell {
  std::string reason;                  // completed, failed, cancelled; "": the client does not know
  std::string exception;               // "": none was reported
  bool exiting = false;                // the process is ending: its status decides
  std::optional<int32_t> exit_status;  // reported by the client, for kernels that report none
};

struct RankVerdict {
  enum class Kind : uint8_t {
    kOrderly,  // by goodbye, or by status 0 outside of a loop
    kFailed,   // with a goodbye, but with another status than 0
    kDied,     // without a goodbye
  };
  Kind kind = Kind::kOrderly;
  std::string reason;     // completed, failed, cancelled; "": not known
  std::string exception;  // of kFailed
  ProcessEnd end;         // of kFailed and kDied
};

// A goodbye never overrides the exit status. Status 0 is an orderly end, except without a goodbye
// inside an open loop; any other status is a failure, except that of an interrupt after a
// cancellation. Without a status, the goodbye decides. `farewell` null: there was no goodbye.
// `loop_open` empty: the client has run no loop.
RankVerdict JudgeEnd(const Farewell* farewell, const ProcessEnd& end,
                     std::optional<bool> loop_open);

}  // namespace pitwall::collector
