// State of a process as the system shows it. Used for a process that is stopped or whose
// interpreter is blocked by native code.
#pragma once

#include <optional>
#include <string>

#include "services/collector/processes/process_watch.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

// Returns the threads with their state, wait channel, system call, and kernel stack, as far as the
// kernel permits this process to read them. Returns nullopt if the process is unknown or has
// exited.
std::optional<CaptureLook> InspectProcess(const std::string& root, const ProcessKey& process);

}  // namespace pitwall::collector
