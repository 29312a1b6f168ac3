// State of a process as seen by the system. Used if the process is stopped or its interpreter is
// blocked by native code.
#pragma once

#include <optional>
#include <string>

#include "services/collector/processes/process_watch.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

// Returns the threads and, where the kernel permits this process to read them, their state, wait
// channel, system call, and kernel stack. Returns nullopt if the process is unknown or has exited.
std::optional<CaptureLook> InspectProcess(const std::string& root, const ProcessKey& process);

}  // namespace pitwall::collector
