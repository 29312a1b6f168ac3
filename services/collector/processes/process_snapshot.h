// State of a process from the system alone, for a process that is stopped or whose interpreter is
// held by native code.
#pragma once

#include <optional>
#include <string>

#include "services/collector/processes/process_watch.h"
#include "services/model/issues/capture.h"

namespace pitwall::collector {

// Threads with their state, what they wait for, their system call and their kernel stack, as far as
// the kernel lets this process read them. Nothing: the process is gone, or not known.
std::optional<CaptureLook> InspectProcess(const std::string& root, const ProcessKey& process);

}  // namespace pitwall::collector
